// Which form of activations a matmul takes: one rule for every machine of a kind, so that numerics
// never depend on the instruction set at hand.
#pragma once

#include <cstdint>

#include "ops/args.h"
#include "vt/device.h"
#include "vt/dtype.h"

namespace vt {

// The weight types that multiply 15-bit activations by integer dot products.
inline constexpr DType kQ15WeightTypes[] = {
    DType::kQ4_0,   DType::kQ4_1,   DType::kQ5_0,  DType::kQ5_1, DType::kQ8_0,
    DType::kQ2_K,   DType::kQ3_K,   DType::kQ4_K,  DType::kQ5_K, DType::kQ6_K,
    DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4,
};

bool HasQ15Form(DType weight);

// kQ15 on a CPU, unless `exact` or where the weight type has no 15-bit form; kF32 elsewhere. `cols`
// is the weight's row length.
ActType MatmulActType(DType weight, std::int64_t cols, bool exact, DeviceKind device);

}  // namespace vt
