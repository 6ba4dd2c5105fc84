// Body of expert_combine, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// One row: x of each of its pairs is at places[j], or at first + j.
template <class V>
VT_VEC_INLINE void CombineRow(const ExpertCombineArgs& args, std::int64_t r,
                              const std::int32_t* places) {
  using F = typename V::F;
  const std::int64_t first = r * args.used;
  const auto row_of = [&](std::int64_t j) {
    return args.x + (places ? places[j] : first + j) * args.cols;
  };
  const auto weight_of = [&](std::int64_t j) {
    return V::Splat(args.weights ? args.weights[first + j] : 1.0f);
  };
  float* out = args.out + r * args.cols;
  ForVectors(args.cols, [&](std::int64_t i, int n) {
    F sum = V::Mul(weight_of(0), LoadN<V>(row_of(0) + i, n));
    for (std::int64_t j = 1; j < args.used; ++j) {
      sum = V::Fma(weight_of(j), LoadN<V>(row_of(j) + i, n), sum);
    }
    StoreN<V>(out + i, sum, n);
  });
}

// The places of so many pairs are looked up at a time, in one walk over the order.
inline constexpr std::int64_t kPlaces = 4 * kMostExperts;

template <class V>
void ExpertCombine(const ExpertCombineArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  if (!args.order) {
    for (std::int64_t r = rows.begin; r < rows.end; ++r) CombineRow<V>(args, r, nullptr);
    return;
  }
  std::int32_t places[kPlaces];
  const std::int64_t at_once = kPlaces / args.used;
  for (std::int64_t begin = rows.begin; begin < rows.end; begin += at_once) {
    const std::int64_t end = begin + at_once < rows.end ? begin + at_once : rows.end;
    const std::int64_t first = begin * args.used;
    const auto count = static_cast<std::uint64_t>((end - begin) * args.used);
    for (std::int64_t p = 0; p < args.rows * args.used; ++p) {
      const auto pair = static_cast<std::uint64_t>(args.order[p] - first);
      if (pair < count) places[pair] = static_cast<std::int32_t>(p);
    }
    for (std::int64_t r = begin; r < end; ++r) {
      CombineRow<V>(args, r, places + (r - begin) * args.used);
    }
  }
}

}  // namespace
}  // namespace vt
