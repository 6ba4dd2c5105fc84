#include <charconv>
#include <fstream>
#include <string_view>
#include <vector>

#include "device/probe.h"

namespace vt {
namespace {

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// "MemTotal:       65852116 kB"
MemoryFact FromMeminfo(const std::string& root, std::string_view key) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::string_view rest = line;
    if (!rest.starts_with(key) || rest.substr(key.size(), 1) != ":") continue;
    rest.remove_prefix(key.size() + 1);
    const std::size_t digits = rest.find_first_not_of(" \t");
    if (digits == std::string_view::npos) break;
    const auto kib = ParseNumber(rest.substr(digits));
    if (!kib || *kib > UINT64_MAX / 1024) break;
    return {*kib * 1024, std::string("/proc/meminfo ").append(key)};
  }
  return {};
}

// A cgroup hierarchy that may limit memory: where it is mounted, this process's group in it, and
// the name of the file that holds a group's limit.
struct Hierarchy {
  std::string mount;
  std::string group;
  std::string file;
};

// Lines of /proc/self/cgroup read "id:controllers:group"; v2 is id 0 with no controllers.
std::vector<Hierarchy> MemoryHierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first, second + 1 - first);
    for (char& c : controllers) c = c == ':' ? ',' : c;
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      found.push_back({"/sys/fs/cgroup", group, "memory.max"});
      found.push_back({"/sys/fs/cgroup/unified", group, "memory.max"});  // beside v1
    } else if (controllers.find(",memory,") != std::string::npos) {
      found.push_back({"/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"});
    }
  }
  return found;
}

// v1 writes "no limit" as the largest number of whole pages.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

void HoldTo(const std::string& root, const std::string& path, MemoryFact& smallest) {
  std::ifstream file(root + path);
  std::string text;
  if (!(file >> text)) return;
  const auto limit = ParseNumber(text);  // nothing for "max"
  if (!limit || *limit >= kNoLimit) return;
  if (!smallest.bytes || *limit < *smallest.bytes) smallest = {*limit, path};
}

}  // namespace

MemoryFact MemoryTotal(const std::string& root) { return FromMeminfo(root, "MemTotal"); }
MemoryFact MemAvailable(const std::string& root) { return FromMeminfo(root, "MemAvailable"); }

MemoryFact CgroupLimit(const std::string& root) {
  MemoryFact smallest;
  for (const Hierarchy& hierarchy : MemoryHierarchies(root)) {
    // In a container the group may be named from outside, and only its mount's top be visible.
    for (std::string group = hierarchy.group;;) {
      while (group.ends_with('/')) group.pop_back();
      HoldTo(root, hierarchy.mount + group + "/" + hierarchy.file, smallest);
      const std::size_t slash = group.rfind('/');
      if (slash == std::string::npos) break;
      group.resize(slash);
    }
  }
  return smallest;
}

MemoryFact AvailableMemory(const std::string& root) {
  const MemoryFact available = MemAvailable(root);
  const MemoryFact limit = CgroupLimit(root);
  if (!limit.bytes) return available;
  if (available.bytes && *available.bytes <= *limit.bytes) return available;
  return limit;
}

}  // namespace vt
