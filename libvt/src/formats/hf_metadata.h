// Writes metadata values into a GgufContents, in the order of the calls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_contents.h"

namespace vt {

class HfMetadata {
 public:
  // `architecture` leads the names of Key().
  HfMetadata(GgufContents& contents, std::string_view architecture)
      : contents_(contents), architecture_(architecture) {}

  // "<architecture>.<name>".
  std::string Key(std::string_view name) const { return architecture_ + "." + std::string(name); }

  // Keys must differ.
  void U32(std::string_view key, std::uint64_t value);
  void F32(std::string_view key, double value);
  void Bool(std::string_view key, bool value);
  void String(std::string_view key, std::string_view value);
  void Array(std::string_view key, std::span<const std::uint32_t> values);
  void Array(std::string_view key, std::span<const std::int32_t> values);
  void Array(std::string_view key, std::span<const float> values);
  void Bools(std::string_view key, const std::vector<bool>& values);
  // The texts must live as long as the contents, in its arena or in a mapped file.
  void Strings(std::string_view key, std::shared_ptr<const std::vector<std::string_view>> values);

 private:
  void Add(std::string_view key, GgufValue value);
  void AddArray(std::string_view key, GgufType type, std::uint64_t count, const void* values);

  GgufContents& contents_;
  std::string architecture_;
};

}  // namespace vt
