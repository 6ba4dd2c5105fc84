// ProbeMachine in a process of its own.
#pragma once

#include "vt/device.h"
#include "vt/status.h"

namespace vt {

// The machine as a child process finds it, so that this one has opened no GPU driver and may fork
// children that open theirs. The process must have one thread. kDevice when the child does not come
// back.
Result<Machine> ProbeMachineInChild(const MachineOptions& options);

}  // namespace vt
