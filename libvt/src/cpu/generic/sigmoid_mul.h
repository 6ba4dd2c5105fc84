// Body of sigmoid_mul, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

template <class V>
void SigmoidMul(const SigmoidMulArgs& args, Part part) {
  using F = typename V::F;
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* x = args.x + r * args.cols;
    const float* gate = args.gate + r * args.gate_cols;
    float* out = args.out + r * args.cols;
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      const F g = args.gate_cols == 1 ? V::Splat(gate[0]) : LoadN<V>(gate + i, n);
      const F e = Exp<V>(V::Sub(V::Splat(0.0f), g));
      StoreN<V>(out + i, V::Div(LoadN<V>(x + i, n), V::Add(V::Splat(1.0f), e)), n);
    });
  }
}

}  // namespace
}  // namespace vt
