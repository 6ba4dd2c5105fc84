// Body of route, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/reductions.h"
#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// The largest values met, largest first; of equals the one met first. No NaN is met.
class Largest {
 public:
  Largest(float* values, std::int32_t* ids, std::int64_t most)
      : values_(values), ids_(ids), most_(most) {}

  bool Wants(float value) const { return count_ < most_ || value > values_[most_ - 1]; }
  void Meet(float value, std::int64_t id) {
    if (!Wants(value)) return;
    std::int64_t at = count_ < most_ ? count_++ : most_ - 1;
    for (; at > 0 && value > values_[at - 1]; --at) {
      values_[at] = values_[at - 1];
      ids_[at] = ids_[at - 1];
    }
    values_[at] = value;
    ids_[at] = static_cast<std::int32_t>(id);
  }

 private:
  float* values_;
  std::int32_t* ids_;
  std::int64_t most_;
  std::int64_t count_ = 0;
};

// Meets values [begin, end): most vectors hold nothing that is wanted.
template <class V>
VT_VEC_INLINE void MeetAll(Largest& largest, const float* values, std::int64_t begin,
                           std::int64_t end) {
  ForVectors(end - begin, [&](std::int64_t i, int n) {
    const float* x = values + begin + i;
    if (!largest.Wants(V::ReduceMax(PadWithLeast<V>(LoadN<V>(x, n), n)))) return;
    for (int lane = 0; lane < n; ++lane) largest.Meet(x[lane], begin + i + lane);
  });
}

// The sum of the two largest of `count` values, or the largest alone.
template <class V>
VT_VEC_INLINE float GroupValue(const float* values, std::int64_t count, bool two) {
  using F = typename V::F;
  const float least = -__builtin_inff();
  F first = V::Splat(least), second = first;  // of each lane
  ForVectors(count, [&](std::int64_t i, int n) {
    const F x = PadWithLeast<V>(LoadN<V>(values + i, n), n);
    second = V::Max(V::Min(x, first), second);
    first = V::Max(x, first);
  });
  if (!two || count == 1) return V::ReduceMax(first);
  float lanes[2 * kLanes];
  V::Store(lanes, first);
  V::Store(lanes + kLanes, second);
  float most = least, next = least;
  for (const float lane : lanes) {
    if (lane > most) {
      next = most;
      most = lane;
    } else if (lane > next) {
      next = lane;
    }
  }
  const float sum = most + next;
  return sum == sum ? sum : least;  // infinity less infinity
}

// b from s, -infinity for NaN. Whether there was one.
template <class V>
VT_VEC_INLINE bool SelectionValues(const float* scores, const float* bias, std::int64_t count,
                                   float* values) {
  using F = typename V::F;
  const F one = V::Splat(1.0f), minus_one = V::Splat(-1.0f);
  const F least = V::Splat(-__builtin_inff()), zero = V::Splat(0.0f);
  F nans = zero;
  ForVectors(count, [&](std::int64_t i, int n) {
    F b = LoadN<V>(scores + i, n);
    if (bias) b = V::Add(b, LoadN<V>(bias + i, n));
    // 0 but for a NaN, which passes both bounds as their second operand.
    nans = V::Fma(V::Min(one, V::Max(minus_one, b)), zero, nans);
    StoreN<V>(values + i, V::Max(b, least), n);
  });
  const float sum = V::ReduceAdd(nans);
  return sum != sum;
}

// The chosen experts, by the selection values.
template <class V>
VT_VEC_INLINE void Choose(const RouteArgs& args, const float* values, Largest chosen) {
  if (args.groups == 1) return MeetAll<V>(chosen, values, 0, args.experts);
  const std::int64_t size = args.experts / args.groups;
  float best[kMostExperts];
  std::int32_t groups[kMostExperts];
  Largest open(best, groups, args.groups_used);
  for (std::int64_t g = 0; g < args.groups; ++g) {
    open.Meet(GroupValue<V>(values + g * size, size, args.selection_bias != nullptr), g);
  }
  // In order of their experts, so that of equals the lower index is met first.
  bool is_open[kMostExperts];
  for (std::int64_t g = 0; g < args.groups; ++g) is_open[g] = false;
  for (std::int64_t i = 0; i < args.groups_used; ++i) is_open[groups[i]] = true;
  for (std::int64_t g = 0; g < args.groups; ++g) {
    if (is_open[g]) MeetAll<V>(chosen, values, g * size, (g + 1) * size);
  }
}

template <class V>
VT_VEC_INLINE void Normalize(float* weights, std::int64_t count) {
  typename V::F sum = V::Splat(0.0f);
  ForVectors(count, [&](std::int64_t i, int n) { sum = V::Add(sum, LoadN<V>(weights + i, n)); });
  const float total = V::ReduceAdd(sum);
  const typename V::F divisor = V::Splat(total < 0x1p-14f ? 0x1p-14f : total);
  ForVectors(count, [&](std::int64_t i, int n) {
    StoreN<V>(weights + i, V::Div(LoadN<V>(weights + i, n), divisor), n);
  });
}

template <class V>
void Route(const RouteArgs& args, Part part) {
  using F = typename V::F;
  const Range rows = Share(args.rows, part);
  const F one = V::Splat(1.0f);
  float computed[kMostExperts];
  float values[kMostExperts];
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* logits = args.logits + r * args.experts;
    std::int32_t* ids = args.ids + r * args.used;
    float* weights = args.weights + r * args.used;
    const float* scores = computed;
    switch (args.gating) {
      case Gating::kSoftmax:
        SoftmaxRow<V>(logits, computed, args.experts, one);
        break;
      case Gating::kSigmoid:
        ForVectors(args.experts, [&](std::int64_t i, int n) {
          const F e = Exp<V>(V::Sub(V::Splat(0.0f), LoadN<V>(logits + i, n)));
          StoreN<V>(computed + i, V::Div(one, V::Add(one, e)), n);
        });
        break;
      case Gating::kSoftmaxOfChosen:
        scores = logits;
        break;
    }
    const bool any_nan = SelectionValues<V>(scores, args.selection_bias, args.experts, values);
    Choose<V>(args, values, Largest(weights, ids, args.used));
    for (std::int64_t j = 0; j < args.used; ++j) {
      weights[j] = any_nan ? __builtin_nanf("") : scores[ids[j]];
    }
    if (args.gating == Gating::kSoftmaxOfChosen) SoftmaxRow<V>(weights, weights, args.used, one);
    if (args.normalize) Normalize<V>(weights, args.used);
    ForVectors(args.used, [&](std::int64_t i, int n) {
      StoreN<V>(weights + i, V::Mul(LoadN<V>(weights + i, n), V::Splat(args.scale)), n);
    });
  }
}

}  // namespace
}  // namespace vt
