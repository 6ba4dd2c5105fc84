// The weight types that multiply 15-bit activations, and the function of each: an instruction set
// declares them all with VT_DECLARE_Q15 and chooses among them with VT_DISPATCH_Q15.
#pragma once

#include "cpu/matmul.h"

// X(enumerator of DType, function)
#define VT_Q15_TYPES(X)   \
  X(kQ4_0, MatmulQ4_0)    \
  X(kQ4_1, MatmulQ4_1)    \
  X(kQ5_0, MatmulQ5_0)    \
  X(kQ5_1, MatmulQ5_1)    \
  X(kQ8_0, MatmulQ8_0)    \
  X(kIQ4_NL, MatmulIq4Nl) \
  X(kMXFP4, MatmulMxfp4)  \
  X(kQ2_K, MatmulQ2K)     \
  X(kQ3_K, MatmulQ3K)     \
  X(kQ4_K, MatmulQ4K)     \
  X(kQ5_K, MatmulQ5K)     \
  X(kQ6_K, MatmulQ6K)     \
  X(kIQ4_XS, MatmulIq4Xs)

#define VT_DECLARE_Q15(type, function) \
  void function(const MatmulArgs& args, const MatmulShare& share);

// Within switch (args.w.type).
#define VT_DISPATCH_Q15(type, function) \
  case DType::type:                     \
    return function(args, share);
