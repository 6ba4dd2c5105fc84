// Bodies of softmax and arg_max, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// a with -infinity in the lanes from n on.
template <class V>
VT_VEC_INLINE typename V::F PadWithLeast(typename V::F a, int n) {
  if (n == kLanes) return a;
  float lanes[kLanes];
  for (float& lane : lanes) lane = -__builtin_inff();
  V::StorePartial(lanes, a, n);
  return V::Load(lanes);
}

// softmax of one row, which out may be. A NaN is passed over by the maximum and reaches the sum; so
// does infinity less infinity.
template <class V>
VT_VEC_INLINE void SoftmaxRow(const float* x, float* out, std::int64_t cols, typename V::F scale) {
  using F = typename V::F;
  F most = V::Splat(-__builtin_inff());
  ForVectors(cols, [&](std::int64_t i, int n) {
    most = V::Max(PadWithLeast<V>(V::Mul(LoadN<V>(x + i, n), scale), n), most);
  });
  const F max = V::Splat(V::ReduceMax(most));
  F sum = V::Splat(0.0f);
  ForVectors(cols, [&](std::int64_t i, int n) {
    F e = Exp<V>(V::Sub(V::Mul(LoadN<V>(x + i, n), scale), max));
    if (n != kLanes) e = V::FirstLanes(e, n);
    StoreN<V>(out + i, e, n);
    sum = V::Add(sum, e);
  });
  const F total = V::Splat(V::ReduceAdd(sum));
  ForVectors(cols, [&](std::int64_t i, int n) {
    StoreN<V>(out + i, V::Div(LoadN<V>(out + i, n), total), n);
  });
}

template <class V>
void Softmax(const SoftmaxArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  const typename V::F scale = V::Splat(args.scale);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    SoftmaxRow<V>(args.x + r * args.cols, args.out + r * args.cols, args.cols, scale);
  }
}

// The maximum of each block of the row, then a search of the first block that has the largest.
template <class V>
std::int64_t ArgMaxRow(const float* x, std::int64_t cols) {
  constexpr std::int64_t kSearched = 1024;
  float best = -__builtin_inff();
  std::int64_t block = 0;
  for (std::int64_t b = 0; b < cols; b += kSearched) {
    typename V::F most = V::Splat(-__builtin_inff());
    ForVectors(cols - b < kSearched ? cols - b : kSearched, [&](std::int64_t i, int n) {
      most = V::Max(PadWithLeast<V>(LoadN<V>(x + b + i, n), n), most);
    });
    const float largest = V::ReduceMax(most);
    if (largest > best) best = largest, block = b;
  }
  if (best == -__builtin_inff()) return 0;
  while (x[block] != best) ++block;
  return block;
}

template <class V>
void ArgMax(const ArgMaxArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    args.out[r] = static_cast<std::int32_t>(ArgMaxRow<V>(args.x + r * args.cols, args.cols));
  }
}

}  // namespace
}  // namespace vt
