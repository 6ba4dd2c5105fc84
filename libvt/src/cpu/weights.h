// What the ops on weight matrices share: which weights they take, and how rows are shared out.
#pragma once

#include <cstdint>

#include "cpu/matmul.h"
#include "cpu/rows.h"
#include "ops/registry.h"
#include "ops/shape_check.h"

namespace vt {

// Whether rows of w can be read as f32, f16, bf16 or a block format.
Support CheckWeight(const Weight& w);
// Whether w is an f8_e4m3 matrix, with scales, that can be read.
Support CheckF8Weight(const Weight& w);
// Whether w is one or the other.
Support CheckAnyWeight(const Weight& w);
// Whether w has a product with 15-bit activations.
Support CheckQ15Weight(const Weight& w);
Support CheckAct(ActType taken, ActType seen);

MatmulShare ShareOf(const Weight& w, Range rows);

inline constexpr std::int64_t kRowGrain = 16;  // rows of w: 64 bytes of out
// Parts worth running for a product with `rows` rows of w and so many multiply-adds.
int ProductParts(std::int64_t rows, std::int64_t products);
// Parts of at least `per_part` of `work`.
int PartsFor(std::int64_t work, std::int64_t per_part);

}  // namespace vt
