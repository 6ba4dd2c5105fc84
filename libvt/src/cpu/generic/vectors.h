// How a body walks a row of any length in 16-lane vectors.
#pragma once

#include <cstdint>

#include "cpu/generic/vec16.h"

namespace vt {
namespace {

// Calls fn(i, n) for i = 0, 16, ... below count, n the lanes left, at most 16. n is a constant in
// all calls but the last, so LoadN and StoreN cost nothing there.
template <class Fn>
VT_VEC_INLINE void ForVectors(std::int64_t count, Fn fn) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) fn(i, kLanes);
  if (i < count) fn(i, static_cast<int>(count - i));
}

template <class V>
VT_VEC_INLINE typename V::F LoadN(const float* p, int n) {
  return n == kLanes ? V::Load(p) : V::LoadPartial(p, n);
}
template <class V>
VT_VEC_INLINE void StoreN(float* p, typename V::F a, int n) {
  if (n == kLanes) {
    V::Store(p, a);
  } else {
    V::StorePartial(p, a, n);
  }
}

}  // namespace
}  // namespace vt
