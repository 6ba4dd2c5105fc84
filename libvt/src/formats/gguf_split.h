// Models split over several GGUF files: finding the siblings of a shard and checking that they
// belong together.
//
// Keys (llama.cpp's gguf-split): split.no counts from 0, split.count is the number of files,
// split.tensors.count the number of tensors in all of them. Names end in -00001-of-00003.gguf and
// count from 1. Only the shard with split.no 0 has the metadata of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf_header.h"
#include "formats/mapped_file.h"
#include "vt/status.h"

namespace vt {

// "dir/name-00002-of-00013.gguf" taken apart.
struct SplitName {
  std::string prefix;  // "dir/name"
  std::uint32_t number = 0;
  std::uint32_t total = 0;
  std::size_t digits = 5;

  std::string Path(std::uint32_t shard_number) const;  // counts from 1
};
std::optional<SplitName> ParseSplitName(const std::string& path);

struct OpenShard {
  std::string path;
  MappedFile file;
  GgufHeader header;
};

// The shards of the model that `path` belongs to, by split.no; one when the file is not split,
// whatever its name. Siblings are looked for beside `path`, then beside what each symbolic link on
// the way points to. Tensors have their shard set and unique names; only the first header keeps its
// metadata.
Result<std::vector<OpenShard>> OpenShards(const std::string& path);

}  // namespace vt
