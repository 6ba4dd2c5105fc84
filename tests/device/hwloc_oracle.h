// What hwloc says of the same machine, made up or real.
#pragma once

#include <hwloc.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vt/device.h"

namespace vt::test {

// Everything but allowed, allowed_cores and quota_cpus. `root` as for ProbeTopology.
inline CpuTopology HwlocTopology(const std::string& root) {
  if (!root.empty()) {
    setenv("HWLOC_FSROOT", root.c_str(), 1);
    setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  }
  hwloc_topology_t topology;
  hwloc_topology_init(&topology);
  // Processors that a cgroup withholds are in the machine all the same.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_load(topology);
  unsetenv("HWLOC_FSROOT");
  unsetenv("HWLOC_COMPONENTS");

  CpuTopology found;
  const auto count = [&](hwloc_obj_type_t type) {
    return hwloc_get_nbobjs_by_type(topology, type);
  };
  found.packages = count(HWLOC_OBJ_PACKAGE);
  found.cores = count(HWLOC_OBJ_CORE);
  found.threads = count(HWLOC_OBJ_PU);
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    NumaNode numa;
    numa.id = static_cast<int>(node->os_index);
    for (int cpu = hwloc_bitmap_first(node->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(node->cpuset, cpu)) {
      numa.cpus.push_back(cpu);
    }
    numa.memory_bytes = node->attr->numanode.local_memory;
    found.numa.push_back(numa);
  }
  std::map<std::pair<int, std::uint64_t>, int> caches;
  const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE};
  for (int level = 1; level <= 3; ++level) {
    for (hwloc_obj_t cache = nullptr;
         (cache = hwloc_get_next_obj_by_type(topology, levels[level - 1], cache)) != nullptr;) {
      ++caches[{level, cache->attr->cache.size}];
    }
  }
  for (const auto& [key, number] : caches) {
    found.caches.push_back({key.first, key.second, number});
  }
  hwloc_topology_destroy(topology);
  return found;
}

}  // namespace vt::test
