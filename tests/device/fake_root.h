// A made-up machine: a folder that holds proc/ and sys/ as a test writes them.
#pragma once

#include <cstdint>
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

  // So many equal nodes, each with 12 GiB free and 8 GiB of file cache; the machine has as much.
  void WriteNumaNodes(int count, std::uint64_t kib_each) const {
    const std::string node = "/sys/devices/system/node/";
    Write(node + "online", count == 1 ? "0\n" : "0-" + std::to_string(count - 1) + "\n");
    for (int i = 0; i < count; ++i) {
      const std::string name = "Node " + std::to_string(i) + " ";
      Write(node + "node" + std::to_string(i) + "/meminfo",
            name + "MemTotal:       " + std::to_string(kib_each) + " kB\n" + name +
                "MemFree:        12582912 kB\n" + name + "Active(file):    4194304 kB\n" + name +
                "Inactive(file):  4194304 kB\n");
    }
    const auto kib = [&](std::uint64_t each) {
      return std::to_string(static_cast<std::uint64_t>(count) * each) + " kB\n";
    };
    Write("/proc/meminfo", "MemTotal: " + kib(kib_each) + "MemAvailable: " + kib(20971520));
  }

 private:
  std::string path_ = TempDir();
};

}  // namespace vt::test
