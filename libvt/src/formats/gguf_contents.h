// What a GgufFile is made of, for the readers that make one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "formats/gguf_header.h"
#include "formats/mapped_file.h"
#include "formats/text_arena.h"
#include "vt/gguf.h"

namespace vt {

struct GgufContents {
  std::vector<MappedFile> files;    // what shards[i].base points into
  std::vector<GgufShard> shards;    // at least one; the first names the model in messages
  std::vector<GgufTensor> tensors;  // names differ
  GgufHeader first;                 // metadata and keys; its tensors are not used

  // What names, values, parts, cuts and computed shards point into where no file has them.
  TextArena texts;
  std::vector<std::unique_ptr<std::byte[]>> bytes;
  std::vector<std::unique_ptr<GgufTensorPart[]>> parts;
  std::vector<std::unique_ptr<GgufCut>> cuts;
};

}  // namespace vt
