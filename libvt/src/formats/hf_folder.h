// Hugging Face model folders: which files there are, and the folder as a GgufFile.
#pragma once

#include <string>

#include "formats/gguf_contents.h"
#include "vt/status.h"

namespace vt {

// The folder that `path` stands for: `path` itself when it is a directory, its parent when it is a
// config.json, an index (*.safetensors.index.json) or a *.safetensors file. Empty for any other.
std::string HfFolderOf(const std::string& path);

// Reads config.json and the headers of the safetensors files; maps them all. The order of shards is
// the one that GgufFile::HeaderDigest states. Errors are those of GgufFile::Open.
Result<GgufContents> OpenHfFolder(const std::string& folder);

}  // namespace vt
