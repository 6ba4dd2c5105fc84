// Body of expert_gather, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

template <class V>
void ExpertGather(const ExpertGatherArgs& args, Part part) {
  using F = typename V::F;
  const Range pairs = Share(args.pairs, part);
  for (std::int64_t p = pairs.begin; p < pairs.end; ++p) {
    const std::int64_t pair = args.order ? args.order[p] : p;
    const float* x = args.x + pair / args.used * args.cols;
    float* out = args.out + p * args.cols;
    if (!args.weights) {
      ForVectors(args.cols,
                 [&](std::int64_t i, int n) { StoreN<V>(out + i, LoadN<V>(x + i, n), n); });
      continue;
    }
    const F weight = V::Splat(args.weights[pair]);
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      StoreN<V>(out + i, V::Mul(LoadN<V>(x + i, n), weight), n);
    });
  }
}

}  // namespace
}  // namespace vt
