// model.safetensors.index.json: which file of a folder holds which tensor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/mapped_file.h"
#include "formats/text_arena.h"
#include "vt/status.h"

namespace vt {

struct HfIndexEntry {
  std::string_view tensor;
  std::string_view file;  // a name without folders
};

// In the order of the file; tensors differ. kCorrupt: no JSON, no "weight_map", a tensor twice, a
// file name with folders in it. Views point into `file` or `texts`.
Result<std::vector<HfIndexEntry>> ReadHfIndex(const std::string& path, const MappedFile& file,
                                              TextArena& texts);

}  // namespace vt
