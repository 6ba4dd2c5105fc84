#include "ops/matmul_policy.h"

namespace vt {

bool HasQ8Form(DType weight) {
  for (const DType type : kQ8WeightTypes) {
    if (type == weight) return true;
  }
  return false;
}

ActType MatmulActType(DType weight, std::int64_t cols, bool exact) {
  if (exact || cols % kQ8Group != 0 || !HasQ8Form(weight)) return ActType::kF32;
  return ActType::kQ8;
}

}  // namespace vt
