// The header of one safetensors file: names, types, shapes and places of its tensors, checked
// against its bytes.
//
// Format (huggingface/safetensors, README.md): 8 bytes little-endian header length N, N bytes of
// JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, .., "__metadata__": {..}}, then
// the data, which the tensors cover without gaps or overlaps. Shapes list the slowest dimension
// first.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mapped_file.h"
#include "formats/text_arena.h"
#include "vt/dtype.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;  // as the format says
inline constexpr std::uint64_t kSafetensorsMaxTensors = std::uint64_t{1} << 18;
inline constexpr std::size_t kSafetensorsMaxRank = 8;

// A type name of the format. Those without a DType are read only where a tensor is skipped.
struct SafetensorsType {
  std::string_view name;  // "BF16"
  std::uint32_t bytes;
  bool known = false;  // whether `type` is set
  DType type = DType::kF32;
};

struct SafetensorsTensor {
  std::string_view name;
  const SafetensorsType* type = nullptr;
  std::array<std::uint64_t, kSafetensorsMaxRank> dims{};
  std::uint32_t rank = 0;
  std::uint32_t shard = 0;   // the reader of the folder sets it
  std::uint64_t offset = 0;  // from the start of the file
  std::uint64_t bytes = 0;

  std::span<const std::uint64_t> shape() const { return {dims.data(), rank}; }
};

struct SafetensorsHeader {
  std::uint64_t bytes = 0;                 // of the length and the JSON
  std::vector<SafetensorsTensor> tensors;  // in the order of the JSON
};

// `path` is for messages. Names point into `file` or `texts`. kCorrupt or, for types and sizes that
// this reader does not take, kUnsupported.
Result<SafetensorsHeader> ParseSafetensors(const std::string& path, const MappedFile& file,
                                           TextArena& texts);

// "[2, 3]".
std::string ShapeText(std::span<const std::uint64_t> shape);

}  // namespace vt
