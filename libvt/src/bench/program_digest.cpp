#include "bench/program_digest.h"

#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>

namespace vt {
namespace {

// Empty when it cannot be read.
std::string DigestOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> block(1 << 16);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) return {};
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  char text[48];
  std::snprintf(text, sizeof text, "xxh3-128:%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

std::string ExecutablePath() {
  std::array<char, 4096> target;
  const ssize_t size = readlink("/proc/self/exe", target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : "/proc/self/exe";
}

}  // namespace

BuildFacts ThisBuild() {
#if defined(__clang__)
  const std::string compiler = "Clang " __clang_version__;
#else
  const std::string compiler = "GCC " __VERSION__;
#endif
  return {compiler, VT_BUILD_FLAGS, VT_BUILD_TYPE};
}

Result<std::vector<ProgramFile>> ProgramFiles() {
  const std::string executable = ExecutablePath();
  std::vector<ProgramFile> files = {{executable, DigestOf("/proc/self/exe")}};
  if (files[0].digest.empty()) {
    return Status(Code::kDevice, "/proc/self/exe: cannot be read, so this program has no digest");
  }
  // "from-to rwxp offset dev inode      /path"; code is mapped executable.
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    const std::size_t rights = line.find(' ');
    if (path == std::string::npos || rights == std::string::npos || line[rights + 3] != 'x') {
      continue;
    }
    std::string name = line.substr(path);
    if (name != executable) libraries.insert(std::move(name));
  }
  for (const std::string& name : libraries) files.push_back({name, DigestOf(name)});
  return files;
}

}  // namespace vt
