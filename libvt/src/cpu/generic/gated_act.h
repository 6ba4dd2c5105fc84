// Body of gated_act, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

template <class V>
void GatedAct(const GatedActArgs& args, Part part) {
  using F = typename V::F;
  const Range items = Share(args.count, part, kLanes);
  const float* gate = args.gate + items.begin;
  const float* up = args.up + items.begin;
  float* out = args.out + items.begin;
  const auto apply = [&](auto function) {
    ForVectors(items.end - items.begin, [&](std::int64_t i, int n) {
      StoreN<V>(out + i, function(LoadN<V>(gate + i, n), LoadN<V>(up + i, n)), n);
    });
  };
  const F zero = V::Splat(0.0f), one = V::Splat(1.0f);
  // A NaN is the second operand of a bound, and stays.
  switch (args.act) {
    case GatedActKind::kRelu:
      return apply([&](F g, F u) { return V::Mul(V::Max(zero, g), u); });
    case GatedActKind::kClampedSwiglu: {
      const F most = V::Splat(args.limit), least = V::Splat(-args.limit);
      return apply([&](F g, F u) {
        g = V::Min(most, g);
        u = V::Min(most, V::Max(least, u));
        const F e = Exp<V>(V::Mul(g, V::Splat(-1.702f)));
        return V::Mul(V::Div(g, V::Add(one, e)), V::Add(u, one));
      });
    }
  }
}

}  // namespace
}  // namespace vt
