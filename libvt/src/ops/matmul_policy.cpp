#include "ops/matmul_policy.h"

namespace vt {

bool HasQ15Form(DType weight) {
  for (const DType type : kQ15WeightTypes) {
    if (type == weight) return true;
  }
  return false;
}

ActType MatmulActType(DType weight, std::int64_t cols, bool exact, DeviceKind device) {
  if (device != DeviceKind::kCpu || exact || cols % kQ15Group != 0 || !HasQ15Form(weight))
    return ActType::kF32;
  return ActType::kQ15;
}

}  // namespace vt
