// The memory of the NUMA nodes that this process is held to: by its cpuset, or by a policy that
// binds it ("numactl --membind"). More than they have gets it killed, whatever other nodes have
// free.
//
// Read from Mems_allowed_list of /proc/self/status, the policy that the first range of
// /proc/self/numa_maps names, and /sys/devices/system/node. Sources: Linux
// Documentation/admin-guide/cgroup-v1/cpusets.rst, numa(7), proc(5).
#pragma once

#include <string>

#include "vt/device.h"

namespace vt {

// MemTotal of those nodes together; unknown where the process may take memory of every node that
// has some, or where one of its nodes does not say. source names the nodes and what binds to them.
MemoryFact BoundNodesTotal(const std::string& root);

// What those nodes have free, with their file cache, which the kernel gives back on demand.
MemoryFact BoundNodesRoom(const std::string& root);

}  // namespace vt
