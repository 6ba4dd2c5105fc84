// A GGUF model written anew with its weights in another type.
#pragma once

#include <cstdint>
#include <filesystem>

#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

struct RequantizeAnswer {
  std::uint64_t bytes = 0;    // of the file
  std::size_t converted = 0;  // tensors that have the type now
  std::size_t kept = 0;       // those that are as they were
};

// Writes `file` (all its shards) to `out` with every tensor that IsQuantisable and whose rows are
// whole blocks as `type`. Other tensors and all metadata stay, but for general.file_type, which
// says what the weights were, and split.* and general.alignment, which are about the file. A tensor
// at a time is in memory, a row at a time as f32. Written whole or not at all. kInvalid: a type
// that GGUF weights cannot have, a weight that is not finite or past what the type can hold (tensor
// and row), an `out` that cannot be written or is a shard of `file`; kDevice: the disk failed.
Result<RequantizeAnswer> RequantizeGguf(const GgufFile& file, DType type,
                                        const std::filesystem::path& out);

}  // namespace vt
