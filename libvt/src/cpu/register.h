// The list of CPU kernels.
#pragma once

namespace vt {

class Registry;

// Adds a row for every CPU kernel in this build.
void RegisterCpuKernels(Registry& registry);

// The two halves of that list.
void RegisterCpuElementwise(Registry& registry);  // norms, rope, attention, activations, ...
void RegisterCpuMatmul(Registry& registry);       // embed, quantize, matmul

}  // namespace vt
