// Body of ssm_scan, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/state_runs.h"
#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// Advances kRows rows of a head's state by one row of the step: state = state * decay + u * b;
// sums[k] = state row k . c.
template <class V, int kRows>
VT_VEC_INLINE void ScanTile(float* state, std::int64_t size, typename V::F decay, const float* u,
                            const float* b, const float* c, float* sums) {
  using F = typename V::F;
  F acc[kRows], input[kRows];
  for (int k = 0; k < kRows; ++k) {
    acc[k] = V::Splat(0.0f);
    input[k] = V::Splat(u[k]);
  }
  ForVectors(size, [&](std::int64_t i, int n) {
    const F bv = LoadN<V>(b + i, n), cv = LoadN<V>(c + i, n);
    for (int k = 0; k < kRows; ++k) {
      float* s = state + k * size + i;
      const F next = V::Fma(LoadN<V>(s, n), decay, V::Mul(input[k], bv));
      StoreN<V>(s, next, n);
      acc[k] = V::Fma(next, cv, acc[k]);
    }
  });
  if constexpr (kRows == 4) {
    V::ReduceAdd4(acc[0], acc[1], acc[2], acc[3], sums);
  } else {
    for (int k = 0; k < kRows; ++k) sums[k] = V::ReduceAdd(acc[k]);
  }
}

// Values [first, last) of head h along one sequence.
template <class V>
void ScanHead(const SsmScanArgs& args, const StateRun& run, std::int64_t h, std::int64_t first,
              std::int64_t last) {
  using F = typename V::F;
  const std::int64_t size = args.state_size;
  const std::int64_t group = h / (args.heads / args.groups) * size;
  const std::int64_t dt_stride = args.dt_stride == 0 ? args.heads : args.dt_stride;
  float* state = args.state + (run.slot * args.heads + h) * args.head_dim * size;
  if (run.fresh) {
    for (std::int64_t i = first * size; i < last * size; ++i) state[i] = 0.0f;
  }
  for (std::int64_t block = run.begin; block < run.end; block += kLanes) {
    // The steps of 16 rows at once.
    const int rows = static_cast<int>(run.end - block < kLanes ? run.end - block : kLanes);
    float step[kLanes] = {}, decay[kLanes];
    for (int r = 0; r < rows; ++r) step[r] = args.dt[(block + r) * dt_stride + h];
    const F t = Softplus<V>(V::Add(V::Load(step), V::Splat(args.dt_bias[h])));
    V::Store(step, t);
    V::Store(decay, Exp<V>(V::Mul(t, V::Splat(args.a[h]))));
    for (int r = 0; r < rows; ++r) {
      const float* x = args.x + (block + r) * args.x_stride + h * args.head_dim;
      const float* b = args.b + (block + r) * args.x_stride + group;
      const float* c = args.c + (block + r) * args.x_stride + group;
      float* out = args.out + ((block + r) * args.heads + h) * args.head_dim;
      const F keep = V::Splat(decay[r]);
      const auto tile = [&](auto count, std::int64_t i) {
        constexpr int kRows = decltype(count)::value;
        float u[kRows], sums[kRows];
        for (int k = 0; k < kRows; ++k) u[k] = step[r] * x[i + k];
        ScanTile<V, kRows>(state + i * size, size, keep, u, b, c, sums);
        for (int k = 0; k < kRows; ++k) {
          out[i + k] = __builtin_fmaf(args.d[h], x[i + k], sums[k]);
        }
      };
      ForStateTiles(first, last, tile);
    }
  }
}

template <class V>
void SsmScan(const SsmScanArgs& args, Part part) {
  const Range items = Share(args.heads * args.head_dim, part);
  ForHeadShares(items, args.head_dim, [&](std::int64_t h, std::int64_t first, std::int64_t last) {
    ForStateRuns(args.row, args.rows,
                 [&](const StateRun& run) { ScanHead<V>(args, run, h, first, last); });
  });
}

}  // namespace
}  // namespace vt
