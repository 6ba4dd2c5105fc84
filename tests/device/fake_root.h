// A made-up machine: a folder that holds proc/ and sys/ as a test writes them.
#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "support/test_files.h"

namespace vt::test {

class FakeRoot {
 public:
  const std::string& path() const { return path_; }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = path_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

  // 32 GiB, 20 of them available.
  void WriteMeminfo() const {
    Write("/proc/meminfo",
          "MemTotal:       33554432 kB\nMemFree:         1048576 kB\n"
          "MemAvailable:   20971520 kB\nSwapTotal:             0 kB\n");
  }

 private:
  std::string path_ = TempDir();
};

}  // namespace vt::test
