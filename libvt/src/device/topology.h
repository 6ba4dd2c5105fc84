// What there is of processors, NUMA nodes and caches, and what this process may use of them.
//
// Read from the kernel's own files by one reader for the real machine and for a tree of made-up
// ones. hwloc reads the same files, but from another root only when the process's environment says
// so (version 2 has no call for it), and a library cannot change its caller's environment under the
// feet of other threads. So hwloc is what the tests compare this reader with.
#pragma once

#include <string>

#include "vt/device.h"

namespace vt {

// Reads <root>/sys/devices/system/{cpu,node}; what is not there stays unknown. Processors that are
// switched off do not count. `allowed` is the affinity mask of the calling thread; under a root it
// is Cpus_allowed_list of <root>/proc/self/status, or, without that, every processor there is.
// quota_cpus is the cgroup's.
CpuTopology ProbeTopology(const std::string& root);

// Threads worth starting: the allowed processors, held to the quota rounded up; at least 1.
int UsefulThreads(const CpuTopology& topology);

}  // namespace vt
