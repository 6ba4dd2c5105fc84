// Whether the HIP runtime could be loaded.
#pragma once

#include <string>

namespace vt::gpu_hip {

// Loads it at the first call. Empty when it is there, else what the system says.
std::string HipRuntimeMissing();

}  // namespace vt::gpu_hip
