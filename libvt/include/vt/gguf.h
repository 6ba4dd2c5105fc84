// GGUF v2 and v3 headers: metadata and tensor table, single files and splits, memory-mapped.
//
// Goal: every count, string, dimension, offset, alignment and type of a known key is checked
// against the bytes that are there, so nothing after Open() needs to doubt the table.
// Non-goal: knowing what the keys mean; that is models/ and formats/tokenizer/.
// Source: the GGUF specification (ggml/docs/gguf.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vt/dtype.h"
#include "vt/status.h"

namespace vt {

enum class GgufType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};
std::string_view NameOf(GgufType type);  // "u8", "string", "array", ...

// One metadata value. Scalars are held by value; strings and arrays point into the mapped file and
// live as long as the GgufFile.
class GgufValue {
 public:
  GgufType type = GgufType::kU8;          // kArray for arrays
  GgufType element_type = GgufType::kU8;  // of an array
  std::uint64_t count = 1;                // elements of an array
  std::uint64_t bits = 0;                 // a scalar, zero- or sign-extended, or float bits
  std::string_view text;                  // kString
  const std::byte* data = nullptr;        // packed elements of an array that is not of strings
  std::shared_ptr<const std::vector<std::string_view>> strings;  // array of strings

  bool is_array() const { return type == GgufType::kArray; }
  // Integers of any width and sign where the value fits; nullopt for another type or range.
  std::optional<std::uint64_t> AsU64() const;
  std::optional<std::int64_t> AsI64() const;
  std::optional<double> AsF64() const;  // f32, f64 or any integer
  std::optional<bool> AsBool() const;   // bool only
  // Element i of a numeric or bool array as f64/i64; nullopt when out of range or not numeric.
  std::optional<std::int64_t> ElementI64(std::uint64_t i) const;
  std::optional<double> ElementF64(std::uint64_t i) const;
};

struct GgufTensor {
  std::string_view name;
  DType type = DType::kF32;
  std::vector<std::uint64_t> dims;  // fastest first, as in the file: ne[0] is the row length
  std::uint64_t offset = 0;         // from the start of its shard's file
  std::uint64_t bytes = 0;
  std::uint32_t shard = 0;  // index into shards()

  std::uint64_t cols() const { return dims.empty() ? 1 : dims[0]; }
  std::uint64_t rows() const {  // product of all other dimensions
    std::uint64_t n = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) n *= dims[i];
    return n;
  }
};

struct GgufShard {
  std::string path;
  std::uint64_t file_bytes = 0;
  std::uint64_t header_bytes = 0;  // up to the first tensor byte (aligned)
  std::uint32_t version = 3;
  const std::byte* base = nullptr;  // the mapping, read-only, whole file
};

class GgufFile {
 public:
  // Opens `path` and, when split.count > 1, all its siblings (any shard or a symlink to one may be
  // given). Reads headers only. Errors are kCorrupt (damaged, hostile, missing, unreadable) or
  // kUnsupported (big-endian, version 1, tensor type not in the table) and name file, key or tensor
  // with the value seen and the value allowed. Takes under a second and 64 MiB on any input.
  static Result<GgufFile> Open(const std::string& path);

  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile();  // unmaps

  const std::vector<GgufShard>& shards() const;
  const std::vector<GgufTensor>& tensors() const;  // in file order, shard by shard
  const GgufTensor* FindTensor(std::string_view name) const;
  const std::byte* Data(const GgufTensor& tensor) const;  // in the mapping

  // Metadata of the first shard. Keys in file order.
  const std::vector<std::pair<std::string_view, GgufValue>>& metadata() const;
  const GgufValue* Find(std::string_view key) const;

  // Typed reads of a known key. Absent: nullopt. Present with a wrong type or out of range:
  // kCorrupt naming the key, the type seen and the type wanted.
  Result<std::optional<std::uint64_t>> GetU64(std::string_view key) const;
  Result<std::optional<double>> GetF64(std::string_view key) const;
  Result<std::optional<bool>> GetBool(std::string_view key) const;
  Result<std::optional<std::string_view>> GetString(std::string_view key) const;
  // An array of strings / of numbers; null when absent.
  Result<const GgufValue*> GetStringArray(std::string_view key) const;
  Result<const GgufValue*> GetNumberArray(std::string_view key) const;

  std::uint64_t total_bytes() const;  // of all shards
  // "xxh3-128:<32 hex>" over each shard's header bytes and file size; reads no tensor data.
  std::string HeaderDigest() const;
  // "xxh3-128:<32 hex>" over all bytes of all shards in order.
  std::string ContentDigest() const;

 private:
  GgufFile();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vt
