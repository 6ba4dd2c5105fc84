// What the control groups of this process grant it: CPU time and memory, cgroup v1 and v2.
//
// A group is bound by its own limits and by those of every group above it, as far as they can be
// seen: in a container the groups above its own are not mounted. A group's place in the file system
// is found from /proc/self/mountinfo, or, where that lists no cgroup mount, at the customary places
// under /sys/fs/cgroup. Sources: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
#pragma once

#include <string>

#include "vt/device.h"

namespace vt {

// CPU time in processors: the smallest quota / period of the group and those above it; "max" and -1
// are no limit. source is the file.
Figure CpuQuota(const std::string& root);

// The smallest memory limit of the group and those above it; "max" and the like are no limit.
// source is the file.
MemoryFact CgroupLimit(const std::string& root);

// The least that any of those limits leaves: the limit less what its group uses, where the file
// cache of the group, which the kernel gives back on demand, is not counted as used. Where a group
// does not say what it uses, its whole limit. source is the limit's file, and what was taken off.
MemoryFact CgroupRoom(const std::string& root);

}  // namespace vt
