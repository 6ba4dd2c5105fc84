#include "device/cgroup.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "device/sysfs.h"

namespace vt {
namespace {

// v1 writes "no limit" as the largest number of whole pages.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

enum class Version { kV1, kV2 };

// A group that this process's use counts against.
struct Group {
  Version version;
  std::string path;  // its folder, without the root
};

// Where a hierarchy is mounted, and which group of it the mount shows at its top.
struct Mount {
  Version version;
  std::string path;
  std::string top;
};

bool Lists(std::string_view comma_separated, std::string_view word) {
  while (!comma_separated.empty()) {
    const std::string_view item = comma_separated.substr(0, comma_separated.find(','));
    if (item == word) return true;
    comma_separated.remove_prefix(std::min(item.size() + 1, comma_separated.size()));
  }
  return false;
}

// mountinfo writes a space, tab, newline and backslash of a path as \040 and so on.
std::string Unescaped(std::string_view text) {
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// A line reads "id parent major:minor top path options [optional..] - type source super-options".
std::vector<Mount> MountsOf(const std::string& root, std::string_view controller) {
  std::vector<Mount> mounts;
  bool any = false;
  for (const std::string& line : ReadLines(root + "/proc/self/mountinfo")) {
    const std::vector<std::string_view> words = Words(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) continue;
    const std::string_view type = dash[1];
    if (type != "cgroup" && type != "cgroup2") continue;
    any = true;
    const Version version = type == "cgroup2" ? Version::kV2 : Version::kV1;
    if (version == Version::kV1 && !Lists(dash[3], controller)) continue;
    mounts.push_back({version, Unescaped(words[4]), Unescaped(words[3])});
  }
  if (any) return mounts;
  const std::string base = "/sys/fs/cgroup";
  mounts = {{Version::kV2, base, "/"},
            {Version::kV2, base + "/unified", "/"},  // beside v1
            {Version::kV1, base + "/" + std::string(controller), "/"}};
  if (controller == "cpu") mounts.push_back({Version::kV1, base + "/cpu,cpuacct", "/"});
  return mounts;
}

// The group as seen from the top of the mount: "" at or above it. Nothing when the mount shows
// groups that this process is not in.
std::optional<std::string> Below(std::string_view group, std::string_view top) {
  while (group.ends_with('/')) group.remove_suffix(1);
  while (top.ends_with('/')) top.remove_suffix(1);
  if ((std::string(group) + "/").find("/../") != std::string::npos) return std::nullopt;
  if (group.starts_with(top) && (group.size() == top.size() || group[top.size()] == '/')) {
    return std::string(group.substr(top.size()));
  }
  // Named by different namespaces: the top of what is mounted is all that can be told to be ours.
  return std::string();
}

// Lines of /proc/self/cgroup read "id:controllers:group"; v2 is id 0 with no controllers.
std::vector<Group> GroupsOf(const std::string& root, std::string_view controller) {
  std::vector<Group> groups;
  const std::vector<Mount> mounts = MountsOf(root, controller);
  for (const std::string& line : ReadLines(root + "/proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view text = line;
    const std::string_view controllers = text.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !Lists(controllers, controller)) continue;
    const Version version = controllers.empty() ? Version::kV2 : Version::kV1;
    for (const Mount& mount : mounts) {
      if (mount.version != version) continue;
      auto below = Below(text.substr(second + 1), mount.top);
      if (!below) continue;
      for (;; below->resize(below->rfind('/'))) {
        groups.push_back({version, mount.path + *below});
        if (below->empty()) break;
      }
    }
  }
  return groups;
}

std::optional<double> QuotaOf(const std::string& folder, Version version) {
  std::optional<std::uint64_t> quota, period;
  if (version == Version::kV2) {  // "max 100000" or "150000 100000"
    const std::string text = ReadText(folder + "/cpu.max").value_or("");
    const std::vector<std::string_view> words = Words(text);
    if (words.size() != 2) return std::nullopt;
    quota = ParseNumber(words[0]);
    period = ParseNumber(words[1]);
  } else {
    quota = ParseNumber(ReadText(folder + "/cpu.cfs_quota_us").value_or(""));
    period = ParseNumber(ReadText(folder + "/cpu.cfs_period_us").value_or(""));
  }
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

struct MemoryFiles {
  std::string_view limit, usage, stat;
  std::string_view cache[2];  // lines of `stat`: with those of the groups below
};
const MemoryFiles& FilesOf(Version version) {
  static constexpr MemoryFiles kV1 = {"memory.limit_in_bytes",
                                      "memory.usage_in_bytes",
                                      "memory.stat",
                                      {"total_inactive_file", "total_active_file"}};
  static constexpr MemoryFiles kV2 = {
      "memory.max", "memory.current", "memory.stat", {"inactive_file", "active_file"}};
  return version == Version::kV1 ? kV1 : kV2;
}

std::string Join(const std::string& folder, std::string_view file) {
  return std::string(folder).append("/").append(file);
}

// Each numeric limit with its group.
std::vector<std::pair<Group, MemoryFact>> MemoryLimits(const std::string& root) {
  std::vector<std::pair<Group, MemoryFact>> limits;
  for (const Group& group : GroupsOf(root, "memory")) {
    const std::string path = Join(group.path, FilesOf(group.version).limit);
    const auto limit = ParseNumber(ReadText(root + path).value_or(""));
    if (limit && *limit < kNoLimit) limits.push_back({group, {*limit, path}});
  }
  return limits;
}

std::uint64_t FileCache(const std::string& path, const MemoryFiles& files) {
  std::uint64_t bytes = 0;
  for (const std::string& line : ReadLines(path)) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() != 2 || (words[0] != files.cache[0] && words[0] != files.cache[1])) continue;
    bytes += ParseNumber(words[1]).value_or(0);
  }
  return bytes;
}

void KeepSmaller(MemoryFact& smallest, MemoryFact fact) {
  if (!smallest.bytes || *fact.bytes < *smallest.bytes) smallest = std::move(fact);
}

}  // namespace

Figure CpuQuota(const std::string& root) {
  Figure smallest;
  for (const Group& group : GroupsOf(root, "cpu")) {
    const auto cpus = QuotaOf(root + group.path, group.version);
    if (!cpus || (smallest.value && *smallest.value <= *cpus)) continue;
    smallest = {*cpus,
                Join(group.path, group.version == Version::kV2 ? "cpu.max" : "cpu.cfs_quota_us")};
  }
  return smallest;
}

MemoryFact CgroupLimit(const std::string& root) {
  MemoryFact smallest;
  for (auto& [group, limit] : MemoryLimits(root)) KeepSmaller(smallest, limit);
  return smallest;
}

MemoryFact CgroupRoom(const std::string& root) {
  MemoryFact smallest;
  for (auto& [group, limit] : MemoryLimits(root)) {
    const MemoryFiles& files = FilesOf(group.version);
    MemoryFact room = limit;
    if (const auto usage =
            ParseNumber(ReadText(root + Join(group.path, files.usage)).value_or(""))) {
      const std::uint64_t cache = FileCache(root + Join(group.path, files.stat), files);
      const std::uint64_t used = *usage - std::min(*usage, cache);
      room.bytes = *limit.bytes - std::min(*limit.bytes, used);
      room.source.append(" less ").append(files.usage).append(" without its file cache");
    }
    KeepSmaller(smallest, std::move(room));
  }
  return smallest;
}

}  // namespace vt
