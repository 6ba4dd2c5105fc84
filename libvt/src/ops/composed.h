// Composed kernels: fused ops as other ops of the same device, on every kind of device. What a
// native kernel computes must equal this to the bit, since this is what the op means.
#pragma once

namespace vt {

class Registry;

void RegisterComposedKernels(Registry& registry);

}  // namespace vt
