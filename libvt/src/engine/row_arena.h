// The arena of one row of the memory plan.
#pragma once

#include <string>

#include "device/device_memory.h"
#include "plan/memory_plan.h"

namespace vt {

// As many bytes of `memory`, which must outlive the arena, as the plan's row of that device has.
Result<Arena> RowArena(const EnginePlan& plan, const std::string& device, const char* row,
                       DeviceMemory& memory);

// kInternal when the carving did not use up the row to the byte.
Status CheckUsedUp(const Arena& arena, const char* row);

}  // namespace vt
