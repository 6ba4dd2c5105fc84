// The header of a model: metadata and tensor table, memory-mapped. From GGUF v2 and v3, single
// files and splits, and from Hugging Face folders (config.json, *.safetensors, tokenizer.json).
//
// Goal: every count, string, dimension, offset, alignment and type of a known key is checked
// against the bytes that are there, so nothing after Open() needs to doubt the table.
// Non-goal: knowing what the keys mean; that is models/ and formats/tokenizer/.
//
// A folder is presented as the GGUF file that holds the same model: its configuration under GGUF
// keys, its tensors under GGUF names with GGUF's order of dimensions. What GGUF has no place for:
//  * FP8 weights keep their bytes as f8_e4m3. The scales of X.weight are a tensor of their own:
//    X.weight_scale, one per output row: dims {rows} or {rows, experts}, f32, bf16 or f16:
//      weight[n, k] = f8[n, k] * scale[n]
//    or X.weight_scale_inv, one per block of 128 x 128: dims {ceil(cols / 128), ceil(rows / 128)}
//    or {.., .., experts}:
//      weight[n, k] = f8[n, k] * scale[n / 128, k / 128]
//    Every f8_e4m3 tensor has exactly one of the two.
//  * A tensor may be in parts, or cut out of the joint matrix of keys and values, see
//    GgufTensor::parts and ::cut.
//  * A computed tensor (rope_freqs.weight) lies in a shard that is no file.
// Sources: the GGUF specification (ggml/docs/gguf.md), the safetensors format description
// (huggingface/safetensors, README.md).
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

// A run of bytes of a shard.
struct GgufTensorPart {
  std::uint32_t shard = 0;
  std::uint64_t offset = 0;  // from the start of its shard's file
  std::uint64_t bytes = 0;
};

// A tensor [matrices, rows, cols] that is cut out of a stored matrix when it is copied: of each of
// `matrices` runs of `stride_rows` stored rows those from first_row on, as they are or transposed;
// decoded to f32 where the stored type is f8_e4m3.
struct GgufCut {
  DType stored = DType::kF32;  // f32, f16, bf16 or f8_e4m3
  std::uint64_t matrices = 0;
  std::uint64_t stride_rows = 0;
  std::uint64_t first_row = 0;
  std::uint64_t taken_rows = 0;
  std::uint64_t stored_cols = 0;
  bool transposed = false;
  // Of f8_e4m3: one scale for each block of scale_rows x scale_cols of the stored matrix, and for
  // what is left of one at its ends.
  GgufTensorPart scales = {};
  DType scale_type = DType::kF32;  // f32, f16 or bf16
  std::uint64_t scale_rows = 1;
  std::uint64_t scale_cols = 1;
};

struct GgufTensor {
  std::string_view name;
  DType type = DType::kF32;
  std::vector<std::uint64_t> dims;  // fastest first, as in the file: ne[0] is the row length
  std::uint64_t offset = 0;         // from the start of its shard's file
  std::uint64_t bytes = 0;
  std::uint32_t shard = 0;  // index into shards()
  // Empty: the tensor is the `bytes` bytes at `offset`, aligned to its type. Else it is these runs,
  // one after the other (experts that a folder stores apart, rows in another order, bytes that are
  // not aligned), and GgufFile::CopyTo gathers it. Held by the GgufFile.
  std::span<const GgufTensorPart> parts = {};
  // Where it is set, the one part is the stored matrix that the tensor is cut out of.
  const GgufCut* cut = nullptr;

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
  // Up to the first tensor byte (aligned); of a file without tensors, all of it.
  std::uint64_t header_bytes = 0;
  std::uint32_t version = 3;        // of a GGUF file; 0 for others
  const std::byte* base = nullptr;  // the mapping, read-only, whole file
  bool computed = false;            // no file: tensors that the reader made, in memory
};

struct GgufContents;  // formats/gguf_contents.h

class GgufFile {
 public:
  // Opens `path` and, when split.count > 1, all its siblings (any shard or a symlink to one may be
  // given). A folder, its config.json, model.safetensors.index.json or a *.safetensors file in it
  // opens that folder, whose config.json is then the first shard. Reads headers only. Errors are
  // kCorrupt (damaged, hostile, missing, unreadable) or kUnsupported (big-endian, version 1, tensor
  // type not in the table, an architecture or a quantisation of a folder that is not known) and
  // name file, key or tensor with the value seen and the value allowed. Takes under a second and
  // 64 MiB on any GGUF header.
  static Result<GgufFile> Open(const std::string& path);
  static GgufFile FromContents(GgufContents contents);

  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile();  // unmaps

  const std::vector<GgufShard>& shards() const;
  const std::vector<GgufTensor>& tensors() const;  // in file order, shard by shard
  const GgufTensor* FindTensor(std::string_view name) const;
  // Whether the tensor is one run of bytes, aligned to its type.
  bool Contiguous(const GgufTensor& tensor) const { return tensor.parts.empty(); }
  // In the mapping; null for a tensor that is not contiguous.
  const std::byte* Data(const GgufTensor& tensor) const;
  // Copies tensor.bytes bytes, of any tensor, to `out`.
  void CopyTo(const GgufTensor& tensor, std::byte* out) const;
  // Copies bytes [begin, begin + count) of the tensor, which must be inside it.
  void CopyRange(const GgufTensor& tensor, std::uint64_t begin, std::uint64_t count,
                 std::byte* out) const;

  // Lets the system take back the memory of the tensor's pages; reading them again works.
  void Release(const GgufTensor& tensor) const;

  // Metadata of the first shard (of a folder: of all its files). Keys in file order.
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
  // "xxh3-128:<32 hex>" over each shard's header bytes and file size; reads no tensor data. Of a
  // folder: config.json, then (where they are) generation_config.json, tokenizer.json,
  // tokenizer_config.json, chat_template.jinja and model.safetensors.index.json, whole, then the
  // *.safetensors files by name. What is computed counts for neither digest.
  std::string HeaderDigest() const;
  // "xxh3-128:<32 hex>" over all bytes of all shards in order.
  std::string ContentDigest() const;

 private:
  GgufFile();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vt
