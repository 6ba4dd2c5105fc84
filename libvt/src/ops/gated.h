// What silu_mul and gelu_mul share.
#pragma once

#include <vector>

#include "ops/cases/binder.h"
#include "ops/cases/op_cases.h"
#include "ops/registry.h"

namespace vt {

template <class Args>
std::vector<AnyArgs> GatedCalls(const Args& a, Activation act) {
  return {
      ActivateArgs{.x = a.gate, .out = a.out, .count = a.count, .act = act},
      MulArgs{.a = a.out, .b = a.up, .out = a.out, .rows = 1, .cols = a.count, .b_cols = a.count}};
}

template <class Args>
void BindGated(Binder& b, const OpCase& c, Args& a) {
  b.InAndOut(a.gate, a.out, a.count, c.in_place, -4, 4);
  a.up = b.Floats("up", a.count);
  b.Rounding(1, 4);
}

}  // namespace vt
