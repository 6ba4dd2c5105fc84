// Kernels of GPUs and of the simulated device.
#pragma once

namespace vt {

class Registry;

// Rows for cuda, hip and sim: every build lists all of them, those that are compiled out without a
// function. Call it after the CPU's rows, whose scalar kernels are the simulated device's
// reference.
void RegisterGpuKernels(Registry& registry);

}  // namespace vt
