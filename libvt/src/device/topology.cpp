#include "device/topology.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "device/cgroup.h"
#include "device/sysfs.h"

namespace vt {
namespace {

using Cpus = std::vector<int>;

// The calling thread's affinity mask; the buffer grows until the kernel's fits.
Cpus AffinityMask() {
  Cpus cpus;
  for (int count = CPU_SETSIZE; count <= (1 << 20); count *= 2) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; fits && cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (fits) break;
  }
  return cpus;
}

// The mask in /proc names processors that the machine could have, too: `online` sorts them out.
Cpus AllowedCpus(const std::string& root, const std::optional<Cpus>& online) {
  if (root.empty()) return AffinityMask();
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  for (const std::string& line : ReadLines(root + "/proc/self/status")) {
    if (!line.starts_with(kKey)) continue;
    const std::vector<std::string_view> words = Words(line);
    const auto mask = words.size() == 2 ? ParseCpuList(words[1]) : std::nullopt;
    if (!mask || !online) return mask.value_or(Cpus{});
    Cpus both;
    std::set_intersection(mask->begin(), mask->end(), online->begin(), online->end(),
                          std::back_inserter(both));
    return both;
  }
  return online.value_or(Cpus{});
}

// Per processor, the set that it shares something with; newer kernels renamed these files.
std::optional<Cpus> SharedWith(const std::string& cpu_folder, const char* name, const char* old) {
  auto set = ReadCpuList(cpu_folder + "/topology/" + name);
  if (!set) set = ReadCpuList(cpu_folder + "/topology/" + old);
  if (set && set->empty()) return std::nullopt;
  return set;
}

std::optional<int> CountOf(const std::set<Cpus>& sets) {
  if (sets.empty()) return std::nullopt;
  return static_cast<int>(sets.size());
}

// "48K": the kernel writes no other unit.
std::optional<std::uint64_t> ParseSize(std::string_view text) {
  if (!text.ends_with('K')) return std::nullopt;
  text.remove_suffix(1);
  const auto kib = ParseNumber(text);
  if (!kib || *kib == 0 || *kib > UINT64_MAX / 1024) return std::nullopt;
  return *kib * 1024;
}

// All caches of the machine for data, each once.
class CacheCollector {
 public:
  void Add(int cpu, const std::string& cpu_folder) {
    for (int index = 0;; ++index) {
      const std::string folder = cpu_folder + "/cache/index" + std::to_string(index);
      const auto level = ParseNumber(ReadText(folder + "/level").value_or(""));
      if (!level || *level == 0 || *level > 9) break;
      if (ReadText(folder + "/type") == "Instruction") continue;
      const auto bytes = ParseSize(ReadText(folder + "/size").value_or(""));
      if (!bytes) continue;
      // A cache that names no processors is taken for this one's own.
      const Cpus shared = ReadCpuList(folder + "/shared_cpu_list").value_or(Cpus{});
      const int first = shared.empty() ? cpu : shared.front();
      if (seen_.insert({*level, first}).second) ++counts_[{*level, *bytes}];
    }
  }

  std::vector<CacheLevel> Levels() const {
    std::vector<CacheLevel> levels;
    for (const auto& [key, count] : counts_) {
      levels.push_back({static_cast<int>(key.first), key.second, count});
    }
    return levels;
  }

 private:
  std::set<std::pair<std::uint64_t, int>> seen_;                   // level, first processor
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> counts_;  // level, bytes
};

std::vector<NumaNode> NumaNodes(const std::string& root) {
  const std::string base = root + "/sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (int id : ReadCpuList(base + "/online").value_or(Cpus{})) {
    const std::string number = std::to_string(id);
    const std::string folder = base + "/node" + number;
    const auto cpus = ReadCpuList(folder + "/cpulist");
    if (!cpus) continue;
    nodes.push_back(
        {id, *cpus, ReadKilobytes(folder + "/meminfo", "Node " + number + " ", "MemTotal")});
  }
  return nodes;
}

}  // namespace

CpuTopology ProbeTopology(const std::string& root) {
  CpuTopology topology;
  const std::string base = root + "/sys/devices/system/cpu";
  const std::optional<Cpus> online = ReadCpuList(base + "/online");
  topology.allowed = AllowedCpus(root, online);

  std::set<Cpus> packages, cores, allowed_cores;
  bool all_cores = true, all_packages = true;
  CacheCollector caches;
  for (int cpu : online.value_or(Cpus{})) {
    const std::string folder = base + "/cpu" + std::to_string(cpu);
    const auto core = SharedWith(folder, "core_cpus_list", "thread_siblings_list");
    const auto package = SharedWith(folder, "package_cpus_list", "core_siblings_list");
    all_cores &= core.has_value();
    all_packages &= package.has_value();
    if (package) packages.insert(*package);
    // The threads of a core share its caches, so one of them speaks for all.
    if (!core || cores.insert(*core).second) caches.Add(cpu, folder);
    if (core && std::binary_search(topology.allowed.begin(), topology.allowed.end(), cpu)) {
      allowed_cores.insert(*core);
    }
  }
  if (online && !online->empty()) topology.threads = static_cast<int>(online->size());
  if (all_cores) {
    topology.cores = CountOf(cores);
    topology.allowed_cores = CountOf(allowed_cores);
  }
  if (all_packages) topology.packages = CountOf(packages);
  topology.caches = caches.Levels();
  topology.numa = NumaNodes(root);
  topology.quota_cpus = CpuQuota(root);
  return topology;
}

int UsefulThreads(const CpuTopology& topology) {
  std::size_t threads = topology.allowed.size();
  if (const auto quota = topology.quota_cpus.value) {
    const double whole = std::ceil(*quota);
    if (whole < static_cast<double>(threads)) threads = static_cast<std::size_t>(whole);
  }
  return static_cast<int>(std::max<std::size_t>(threads, 1));
}

}  // namespace vt
