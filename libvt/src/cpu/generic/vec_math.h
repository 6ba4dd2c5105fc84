// Elementary functions over the 16-lane vector, built from its operations alone, so that every
// instruction set gives the same bits.
#pragma once

#include "cpu/generic/vec16.h"

namespace vt {
namespace {

// exp(x) = 2^n * (1 + q): n the nearest whole number to x / ln 2, as an integer; q = exp(r) - 1 for
// the rest |r| <= ln 2 / 2, to 2^-26. x must lie in [-150, 150] or be a NaN, which goes to q.
template <class V>
struct ExpParts {
  typename V::I n;
  typename V::F q;
};

template <class V>
VT_VEC_INLINE ExpParts<V> SplitExp(typename V::F x) {
  using F = typename V::F;
  // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits.
  const F magic = V::Splat(0x1.8p23f);
  const F t = V::Fma(x, V::Splat(0x1.715476p+0f), magic);
  const F n = V::Sub(t, magic);
  F r = V::Fma(n, V::Splat(-0x1.62e43p-1f), x);  // ln 2 in two parts; this step is exact
  r = V::Fma(n, V::Splat(0x1.05c61p-29f), r);
  // (exp(r) - 1 - r) / r^2, a Chebyshev fit.
  F p = V::Splat(0x1.6d113cp-10f);
  p = V::Fma(p, r, V::Splat(0x1.120ba2p-7f));
  p = V::Fma(p, r, V::Splat(0x1.55551ap-5f));
  p = V::Fma(p, r, V::Splat(0x1.5554dcp-3f));
  p = V::Fma(p, r, V::Splat(0.5f));
  return {V::SubI(V::Bits(t), V::Bits(magic)), V::Fma(V::Mul(r, r), p, r)};
}

// 2^n for n in [-126, 127].
template <class V>
VT_VEC_INLINE typename V::F Pow2(typename V::I n) {
  return V::FromBits(V::template ShiftLeft<23>(V::AddI(n, V::SplatI(127))));
}

// exp(x), within 1.1 ulp; 0 and infinity past the ends, denormals kept, NaN stays NaN.
template <class V>
VT_VEC_INLINE typename V::F Exp(typename V::F x) {
  // The bounds are where the result has become 0 and infinity. A NaN is the second operand's.
  const typename V::F held = V::Min(V::Splat(89.0f), V::Max(V::Splat(-104.0f), x));
  const ExpParts<V> e = SplitExp<V>(held);
  // 2^n in two factors: the first product is exact, so a denormal result is rounded once.
  const typename V::I half = V::template ShiftRightSigned<1>(e.n);
  const typename V::F m = V::Add(V::Splat(1.0f), e.q);
  return V::Mul(V::Mul(m, Pow2<V>(half)), Pow2<V>(V::SubI(e.n, half)));
}

// tanh(x), within 3 ulp, odd to the bit.
template <class V>
VT_VEC_INLINE typename V::F Tanh(typename V::F x) {
  const typename V::F a = V::Min(V::Splat(10.0f), V::Abs(x));  // tanh(10) rounds to 1
  const ExpParts<V> e = SplitExp<V>(V::Add(a, a));
  const typename V::F scale = Pow2<V>(e.n);
  // expm1(2a), with no cancellation where n is 0.
  const typename V::F m = V::Fma(scale, e.q, V::Sub(scale, V::Splat(1.0f)));
  return V::CopySign(V::Div(m, V::Add(m, V::Splat(2.0f))), x);
}

// log(1 + exp(x)), within 3 ulp: max(x, 0) + log(1 + u) with u = exp(-|x|), so nothing overflows
// and a small result keeps its digits. It is x itself from 17 on.
template <class V>
VT_VEC_INLINE typename V::F Softplus(typename V::F x) {
  using F = typename V::F;
  const F u = Exp<V>(V::Sub(V::Splat(0.0f), V::Abs(x)));
  // log(1 + u) = 2 atanh(t / 2) with t = 2u / (2 + u), at most 2/3; (2 atanh(t / 2) - t) / t^3 as
  // a Chebyshev fit in t^2, to 2^-29 of the result.
  const F t = V::Div(V::Add(u, u), V::Add(V::Splat(2.0f), u));
  const F w = V::Mul(t, t);
  F p = V::Splat(0x1.dbef8ep-14f);
  p = V::Fma(p, w, V::Splat(0x1.bc7be0p-12f));
  p = V::Fma(p, w, V::Splat(0x1.24c9bep-9f));
  p = V::Fma(p, w, V::Splat(0x1.9998d2p-7f));
  p = V::Fma(p, w, V::Splat(0x1.555556p-4f));
  const F log = V::Fma(V::Mul(t, w), p, t);
  return V::Add(V::Max(V::Splat(0.0f), x), log);  // a NaN is the second operand's
}

// x / (1 + exp(-x))
template <class V>
VT_VEC_INLINE typename V::F Silu(typename V::F x) {
  const typename V::F e = Exp<V>(V::Sub(V::Splat(0.0f), x));
  return V::Div(x, V::Add(V::Splat(1.0f), e));
}

// x/2 (1 + tanh(u)) with u = sqrt(2/pi) (x + 0.044715 x^3), as x / (1 + exp(-2u)), which keeps its
// accuracy where tanh(u) nears -1.
template <class V>
VT_VEC_INLINE typename V::F Gelu(typename V::F x) {
  const typename V::F c = V::Fma(V::Mul(x, x), V::Splat(-0.0713548163f), V::Splat(-1.59576912f));
  return V::Div(x, V::Add(V::Splat(1.0f), Exp<V>(V::Mul(x, c))));
}

}  // namespace
}  // namespace vt
