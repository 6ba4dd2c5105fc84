// Which program measured: its build, and a digest of the very bytes that ran.
#pragma once

#include <string>
#include <vector>

#include "vt/status.h"

namespace vt {

struct BuildFacts {
  std::string compiler;    // "GCC 12.2.0"
  std::string flags;       // of every file; those of an instruction set not included
  std::string build_type;  // "Release"
};
BuildFacts ThisBuild();

struct ProgramFile {
  std::string path;
  std::string digest;  // "xxh3-128:<32 hex>"
};
// The executable, then the shared libraries that are mapped into this process, by path. A library
// that cannot be read has an empty digest. kDevice: the executable cannot be read.
Result<std::vector<ProgramFile>> ProgramFiles();

}  // namespace vt
