// The element types of model files and of the KV cache: ids, names, block geometry.
//
// Ids below kFirstOwnDType are those of the GGUF tensor table (gguf specification, ggml_type); the
// others are types of other files. Block formats store `block` values in `block_bytes` bytes; a row
// must hold whole blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vt {

enum class DType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
  kF8_E4M3 = 1000,  // OCP 8-bit floating point, 4 exponent and 3 mantissa bits, no infinity
};
inline constexpr std::uint32_t kFirstOwnDType = 1000;

struct DTypeInfo {
  DType type;
  std::string_view name;  // as GGUF tools print it, lower case: "q4_k", "f16", "iq2_xxs"
  std::uint32_t block;    // values per block, 1 for plain types
  std::uint32_t block_bytes;
};

// The row of a type; null for an id that is not in the GGUF table.
const DTypeInfo* FindDType(std::uint32_t id);
const DTypeInfo* FindDType(std::string_view name);
const DTypeInfo& InfoOf(DType type);  // type must be a named enumerator
std::span<const DTypeInfo> AllDTypes();

// Whether values are packed in blocks with shared scales (q4_k, mxfp4, ..).
inline bool IsBlockQuantised(DType type) { return InfoOf(type).block > 1; }

inline std::string_view NameOf(DType type) { return InfoOf(type).name; }

// Bytes of one row of `cols` values; cols must be a multiple of the block.
inline std::uint64_t RowBytes(DType type, std::uint64_t cols) {
  const DTypeInfo& info = InfoOf(type);
  return cols / info.block * info.block_bytes;
}

}  // namespace vt
