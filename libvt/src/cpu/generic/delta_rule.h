// Body of delta_rule, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/state_runs.h"
#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// One row of a step for one head. q and k are as given; their lengths are in the factors.
struct DeltaStep {
  const float* q;
  const float* k;
  float decay;
  float gate;       // sigmoid(beta)
  float k_inverse;  // makes k's length 1
  float q_scale;    // makes q's key_dim^-1/2
};

// Advances kRows rows of a head's transposed state; out[j] = state row j . q.
template <class V, int kRows>
VT_VEC_INLINE void DeltaTile(const DeltaStep& step, float* state, std::int64_t size, const float* v,
                             float* out) {
  using F = typename V::F;
  const auto reduce = [](F* acc, float* sums) {
    if constexpr (kRows == 4) {
      V::ReduceAdd4(acc[0], acc[1], acc[2], acc[3], sums);
    } else {
      for (int j = 0; j < kRows; ++j) sums[j] = V::ReduceAdd(acc[j]);
    }
  };
  F acc[kRows];
  for (int j = 0; j < kRows; ++j) acc[j] = V::Splat(0.0f);
  ForVectors(size, [&](std::int64_t i, int n) {
    const F k = LoadN<V>(step.k + i, n);
    for (int j = 0; j < kRows; ++j) {
      acc[j] = V::Fma(LoadN<V>(state + j * size + i, n), k, acc[j]);
    }
  });
  float sums[kRows];
  reduce(acc, sums);
  F change[kRows];
  for (int j = 0; j < kRows; ++j) {
    const float found = sums[j] * (step.decay * step.k_inverse);
    change[j] = V::Splat(step.gate * (v[j] - found) * step.k_inverse);
    acc[j] = V::Splat(0.0f);
  }
  const F decay = V::Splat(step.decay);
  ForVectors(size, [&](std::int64_t i, int n) {
    const F k = LoadN<V>(step.k + i, n), q = LoadN<V>(step.q + i, n);
    for (int j = 0; j < kRows; ++j) {
      float* s = state + j * size + i;
      const F next = V::Fma(LoadN<V>(s, n), decay, V::Mul(k, change[j]));
      StoreN<V>(s, next, n);
      acc[j] = V::Fma(next, q, acc[j]);
    }
  });
  reduce(acc, sums);
  for (int j = 0; j < kRows; ++j) out[j] = sums[j] * step.q_scale;
}

template <class V>
VT_VEC_INLINE float InverseLength(const float* x, std::int64_t size, float eps) {
  typename V::F sum = V::Splat(0.0f);
  ForVectors(size, [&](std::int64_t i, int n) {
    const typename V::F v = LoadN<V>(x + i, n);
    sum = V::Fma(v, v, sum);
  });
  return 1.0f / __builtin_sqrtf(V::ReduceAdd(sum) + eps);
}

// Values [first, last) of head h along one sequence.
template <class V>
void DeltaHead(const DeltaRuleArgs& args, const StateRun& run, std::int64_t h, std::int64_t first,
               std::int64_t last) {
  using F = typename V::F;
  const std::int64_t size = args.key_dim;
  const std::int64_t key_head =
      args.interleaved_keys ? h % args.key_heads : h / (args.heads / args.key_heads);
  const float root = __builtin_sqrtf(static_cast<float>(size));
  float* state = args.state + (run.slot * args.heads + h) * args.value_dim * size;
  if (run.fresh) {
    for (std::int64_t i = first * size; i < last * size; ++i) state[i] = 0.0f;
  }
  for (std::int64_t block = run.begin; block < run.end; block += kLanes) {
    // The gates of 16 rows at once.
    const int rows = static_cast<int>(run.end - block < kLanes ? run.end - block : kLanes);
    float decay[kLanes] = {}, gate[kLanes] = {};
    for (int r = 0; r < rows; ++r) {
      decay[r] = args.alpha[(block + r) * args.heads + h];
      gate[r] = args.beta[(block + r) * args.heads + h];
    }
    const F t = Softplus<V>(V::Add(V::Load(decay), V::Splat(args.dt_bias[h])));
    V::Store(decay, Exp<V>(V::Mul(t, V::Splat(args.a[h]))));
    const F e = Exp<V>(V::Sub(V::Splat(0.0f), V::Load(gate)));
    V::Store(gate, V::Div(V::Splat(1.0f), V::Add(V::Splat(1.0f), e)));
    for (int r = 0; r < rows; ++r) {
      const std::int64_t at = (block + r) * args.qkv_stride;
      const float* q = args.q + at + key_head * size;
      const float* k = args.k + at + key_head * size;
      const DeltaStep step{.q = q,
                           .k = k,
                           .decay = decay[r],
                           .gate = gate[r],
                           .k_inverse = InverseLength<V>(k, size, args.eps),
                           .q_scale = InverseLength<V>(q, size, args.eps) / root};
      const float* v = args.v + at + h * args.value_dim;
      float* out = args.out + ((block + r) * args.heads + h) * args.value_dim;
      ForStateTiles(first, last, [&](auto count, std::int64_t j) {
        DeltaTile<V, decltype(count)::value>(step, state + j * size, size, v + j, out + j);
      });
    }
  }
}

template <class V>
void DeltaRule(const DeltaRuleArgs& args, Part part) {
  const Range items = Share(args.heads * args.value_dim, part);
  ForHeadShares(items, args.value_dim, [&](std::int64_t h, std::int64_t first, std::int64_t last) {
    ForStateRuns(args.row, args.rows,
                 [&](const StateRun& run) { DeltaHead<V>(args, run, h, first, last); });
  });
}

}  // namespace
}  // namespace vt
