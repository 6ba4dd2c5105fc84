// The header of one GGUF file (one shard): metadata and tensor table, checked against its bytes.
//
// Limits of this reader, far above any real model, bound its memory on hostile files: 16,384 keys,
// 2,097,152 strings in arrays, 65,536 tensors, 256 MiB of header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/mapped_file.h"
#include "formats/name_hash.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::uint64_t kGgufMaxKeys = 16384;
inline constexpr std::uint64_t kGgufMaxStrings = std::uint64_t{1} << 21;
inline constexpr std::uint64_t kGgufMaxTensors = 65536;
inline constexpr std::uint64_t kGgufMaxHeaderBytes = std::uint64_t{256} << 20;

struct GgufHeader {
  std::uint32_t version = 3;
  std::uint64_t bytes = 0;  // up to the first tensor byte (aligned), at most the file's size
  std::uint64_t alignment = 32;
  std::vector<std::pair<std::string_view, GgufValue>> metadata;  // file order
  NameIndex keys;                                                // into metadata
  std::vector<GgufTensor> tensors;                               // file order, shard 0

  const GgufValue* Find(std::string_view key) const;
};

// Which ids a tensor table may have.
enum class GgufTypeIds {
  kGguf,  // those of the specification
  kOurs,  // also those of our own types (kFirstOwnDType and up), which no file has
};

// `path` is for messages. Views in the header point into `file`.
Result<GgufHeader> ParseGgufHeader(const std::string& path, const MappedFile& file,
                                   GgufTypeIds ids = GgufTypeIds::kGguf);

// Bytes of a scalar of the type; 0 for strings and arrays.
std::uint64_t BytesOf(GgufType type);
// A scalar or packed element as GgufValue::bits holds it; `from` need not be aligned.
std::uint64_t LoadBits(GgufType type, const std::byte* from);
// "u32", "array of string".
std::string DescribeType(const GgufValue& value);

// Typed reads of `value`, the value of `key` in the file `path`; null is an absent key.
Result<std::optional<std::uint64_t>> ReadU64(const std::string& path, std::string_view key,
                                             const GgufValue* value);
Result<std::optional<double>> ReadF64(const std::string& path, std::string_view key,
                                      const GgufValue* value);
Result<std::optional<bool>> ReadBool(const std::string& path, std::string_view key,
                                     const GgufValue* value);
Result<std::optional<std::string_view>> ReadString(const std::string& path, std::string_view key,
                                                   const GgufValue* value);
Status CheckStringArray(const std::string& path, std::string_view key, const GgufValue* value);
Status CheckNumberArray(const std::string& path, std::string_view key, const GgufValue* value);

}  // namespace vt
