// Typed reads of the JSON files of a Hugging Face folder that are small: config.json,
// tokenizer_config.json, generation_config.json.
//
// Keys are dotted paths: "rope_parameters.full_attention.rope_theta"; numbers index arrays. A key
// that is absent and one that is null are the same.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mapped_file.h"
#include "vt/status.h"

namespace vt {

class HfConfig {
 public:
  // The whole file, an object. kCorrupt: no JSON, no object, over 16 MiB.
  static Result<HfConfig> Read(const std::string& path, const MappedFile& file);
  // A part of the file `path` that is an object.
  static Result<HfConfig> Parse(const std::string& path, std::string_view text);

  // From here on keys are looked up in this object first, then in the whole ("text_config" of a
  // model with several parts). Nothing changes when there is none.
  void Prefer(std::string_view key);

  const std::string& path() const { return path_; }
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // Absent: nullopt. Another type or range: kCorrupt naming key, value and what is wanted.
  Result<std::optional<std::uint64_t>> U64(std::string_view key) const;
  Result<std::optional<double>> F64(std::string_view key) const;
  Result<std::optional<bool>> Bool(std::string_view key) const;
  Result<std::optional<std::string>> String(std::string_view key) const;
  // An array of strings or of whole numbers; one alone is an array of one. Absent: empty.
  Result<std::vector<std::string>> Strings(std::string_view key) const;
  Result<std::vector<std::uint64_t>> U64s(std::string_view key) const;
  // The keys of an object, and the number of elements of an array; absent or another type: none.
  std::vector<std::string> Keys(std::string_view key) const;
  std::size_t Size(std::string_view key) const;
  // The type of the value: "string", "object", ..; "null" when absent.
  std::string TypeName(std::string_view key) const;

  // Of a key that must be there: kCorrupt when it is absent.
  Result<std::uint64_t> NeedU64(std::string_view key) const;
  Result<double> NeedF64(std::string_view key) const;

  // kCorrupt "path: key "key": what", and kUnsupported.
  Status Bad(std::string_view key, const std::string& what) const;
  Status Unsupported(std::string_view key, const std::string& what) const;
  // kUnsupported unless the value, as text, is one of `allowed`, or absent.
  Status CheckString(std::string_view key, const std::vector<std::string_view>& allowed) const;

 private:
  using Json = nlohmann::ordered_json;
  const Json* Find(std::string_view key) const;
  Status Wrong(std::string_view key, const Json& value, const char* wanted) const;

  std::string path_;
  std::shared_ptr<const Json> root_;
  const Json* preferred_ = nullptr;
};

}  // namespace vt
