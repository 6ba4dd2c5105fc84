// The header of a GGUF file put together in memory, for models whose weights are nowhere.
//
// Goal: what works from a header (specs, plans, placements, verdicts) is tested with models of any
// size, at no cost in memory or on disk. Weights read as zeros.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "vt/dtype.h"
#include "vt/gguf.h"

namespace vt::test {

// Keys and tensors in file order. A key that is set again keeps its place and takes the new value.
// All names of keys stand under the architecture: "block_count".
class ModelHeader {
 public:
  struct Key {
    std::string name;  // in full
    GgufType type = GgufType::kU32;
    std::string bytes;  // the value as GGUF encodes it
  };
  struct Tensor {
    std::string name;
    DType type = DType::kF32;
    std::vector<std::uint64_t> dims;  // fastest first

    std::uint64_t bytes() const;
  };

  ModelHeader(std::string_view architecture, std::string_view name);

  ModelHeader& Count(std::string_view key, std::uint32_t value);
  ModelHeader& Counts(std::string_view key, const std::vector<std::int32_t>& values);
  ModelHeader& Number(std::string_view key, float value);
  ModelHeader& Flag(std::string_view key, bool value);
  ModelHeader& Flags(std::string_view key, const std::vector<bool>& values);
  ModelHeader& Text(std::string_view key, std::string_view value);
  ModelHeader& Remove(std::string_view key);

  // The type gives way where its blocks do not divide a row: to q5_0 or q8_0, and these to f16.
  ModelHeader& Add(std::string name, DType type, std::vector<std::uint64_t> dims);
  // f32.
  ModelHeader& AddFloats(std::string name, std::vector<std::uint64_t> dims);
  Tensor* Find(std::string_view name);  // null: there is none

  // A vocabulary as large as the embedding's: what makes real headers megabytes long. It tokenises
  // nothing.
  ModelHeader& AddTokenizer();

  const std::string& architecture() const { return architecture_; }
  const std::vector<Key>& keys() const { return keys_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::uint64_t tensor_bytes() const;  // of all, without what aligns them

  std::string Bytes() const;         // up to the first byte of a tensor
  std::uint64_t file_bytes() const;  // with all tensors
  GgufFile Open() const;             // messages call it "NAME.gguf"
  void WriteSparse(
      const std::string& path) const;  // a file of file_bytes(), all hole but the header

 private:
  ModelHeader& Set(std::string name, GgufType type, std::string bytes);

  std::string architecture_, name_;
  std::vector<Key> keys_;
  std::vector<Tensor> tensors_;
};

}  // namespace vt::test
