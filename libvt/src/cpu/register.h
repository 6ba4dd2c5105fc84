// The list of CPU kernels.
#pragma once

namespace vt {

class Registry;

// Adds a row for every CPU kernel in this build.
void RegisterCpuKernels(Registry& registry);

// The parts of that list.
void RegisterCpuElementwise(Registry& registry);  // norms, rope, attention, activations, ...
void RegisterCpuMatmul(Registry& registry);       // embed, quantize, matmul
void RegisterCpuFp8(Registry& registry);          // dequant_fp8, matmul_fp8
void RegisterCpuExperts(Registry& registry);      // expert_matmul
void RegisterCpuHeadMatmul(Registry& registry);   // head_matmul

}  // namespace vt
