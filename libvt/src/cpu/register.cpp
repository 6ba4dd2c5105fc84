#include "cpu/register.h"

#include "ops/registry.h"

namespace vt {

void RegisterCpuKernels(Registry& registry) {
  RegisterCpuElementwise(registry);
  RegisterCpuMatmul(registry);
  RegisterCpuFp8(registry);
  RegisterCpuExperts(registry);
  RegisterCpuHeadMatmul(registry);
}

}  // namespace vt
