// Bodies of the norms and of what is fused with them, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// 1 / sqrt(squares / cols + eps), in every lane.
template <class V>
VT_VEC_INLINE typename V::F InverseRms(typename V::F squares, std::int64_t cols, float eps) {
  const float mean = V::ReduceAdd(squares) / static_cast<float>(cols);
  return V::Splat(1.0f / __builtin_sqrtf(mean + eps));
}

template <class V>
VT_VEC_INLINE typename V::F RowInverseRms(const float* x, std::int64_t cols, float eps) {
  typename V::F sum = V::Splat(0.0f);
  ForVectors(cols, [&](std::int64_t i, int n) {
    const typename V::F v = LoadN<V>(x + i, n);
    sum = V::Fma(v, v, sum);
  });
  return InverseRms<V>(sum, cols, eps);
}

// x * inverse * weight at vector i of a row; weight may be null.
template <class V>
VT_VEC_INLINE typename V::F Normed(typename V::F x, typename V::F inverse, const float* weight,
                                   std::int64_t i, int n) {
  const typename V::F v = V::Mul(x, inverse);
  return weight ? V::Mul(v, LoadN<V>(weight + i, n)) : v;
}

template <class V>
VT_VEC_INLINE void RmsNormRow(const float* x, const float* weight, float* out, std::int64_t cols,
                              float eps) {
  const typename V::F inverse = RowInverseRms<V>(x, cols, eps);
  ForVectors(cols, [&](std::int64_t i, int n) {
    StoreN<V>(out + i, Normed<V>(LoadN<V>(x + i, n), inverse, weight, i, n), n);
  });
}

template <class V>
void RmsNorm(const RmsNormArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  const std::int64_t stride = args.stride == 0 ? args.cols : args.stride;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* weight = args.weight ? args.weight + r % args.weight_rows * args.cols : nullptr;
    RmsNormRow<V>(args.x + r * stride, weight, args.out + r * stride, args.cols, args.eps);
    if (!args.bias) continue;
    const float* bias = args.bias + r % args.weight_rows * args.cols;
    float* out = args.out + r * stride;
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      StoreN<V>(out + i, V::Add(LoadN<V>(out + i, n), LoadN<V>(bias + i, n)), n);
    });
  }
}

template <class V>
void RmsNormAdd(const RmsNormAddArgs& args, Part part) {
  using F = typename V::F;
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t at = r * args.cols;
    const F inverse = RowInverseRms<V>(args.x + at, args.cols, args.eps);
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      const F v = Normed<V>(LoadN<V>(args.x + at + i, n), inverse, args.weight, i, n);
      StoreN<V>(args.out + at + i, V::Add(LoadN<V>(args.residual + at + i, n), v), n);
    });
  }
}

// Nothing is kept between the passes: the inner sum is cheaper to form twice, from a row that lies
// in the first-level cache, than to store where out may be the residual.
template <class V>
void DualRmsNormResidual(const DualRmsNormResidualArgs& args, Part part) {
  using F = typename V::F;
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t at = r * args.cols;
    const float* x1 = args.x1 + at;
    const float* x2 = args.x2 + at;
    const F inverse1 = RowInverseRms<V>(x1, args.cols, args.eps);
    const F inverse2 = RowInverseRms<V>(x2, args.cols, args.eps);
    const auto inner = [&](std::int64_t i, int n) {
      return V::Add(Normed<V>(LoadN<V>(x1 + i, n), inverse1, args.weight1, i, n),
                    Normed<V>(LoadN<V>(x2 + i, n), inverse2, args.weight2, i, n));
    };
    F sum = V::Splat(0.0f);
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      const F v = inner(i, n);
      sum = V::Fma(v, v, sum);
    });
    const F inverse3 = InverseRms<V>(sum, args.cols, args.eps);
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      const F v = Normed<V>(inner(i, n), inverse3, args.weight3, i, n);
      StoreN<V>(args.out + at + i, V::Add(LoadN<V>(args.residual + at + i, n), v), n);
    });
  }
}

template <class V>
void LayerNorm(const LayerNormArgs& args, Part part) {
  using F = typename V::F;
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* x = args.x + r * args.cols;
    float* out = args.out + r * args.cols;
    const float count = static_cast<float>(args.cols);
    F sum = V::Splat(0.0f);
    ForVectors(args.cols, [&](std::int64_t i, int n) { sum = V::Add(sum, LoadN<V>(x + i, n)); });
    const F mean = V::Splat(V::ReduceAdd(sum) / count);
    F squares = V::Splat(0.0f);
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      F d = V::Sub(LoadN<V>(x + i, n), mean);
      if (n != kLanes) d = V::FirstLanes(d, n);
      squares = V::Fma(d, d, squares);
    });
    const float variance = V::ReduceAdd(squares) / count;
    const F inverse = V::Splat(1.0f / __builtin_sqrtf(variance + args.eps));
    const std::int64_t at = r % args.weight_rows * args.cols;
    const float* weight = args.weight ? args.weight + at : nullptr;
    const float* bias = args.bias ? args.bias + at : nullptr;
    ForVectors(args.cols, [&](std::int64_t i, int n) {
      F v = V::Mul(V::Sub(LoadN<V>(x + i, n), mean), inverse);
      if (weight) v = V::Mul(v, LoadN<V>(weight + i, n));
      if (bias) v = V::Add(v, LoadN<V>(bias + i, n));
      StoreN<V>(out + i, v, n);
    });
  }
}

}  // namespace
}  // namespace vt
