#include "cpu/avx2/q15_types.h"

namespace vt {

void MatmulQ15Avx2(const MatmulArgs& args, const MatmulShare& share) {
  using namespace avx2;
  switch (args.w.type) {
    case DType::kQ4_0:
      return MatmulQ4_0(args, share);
    case DType::kQ4_1:
      return MatmulQ4_1(args, share);
    case DType::kQ5_0:
      return MatmulQ5_0(args, share);
    case DType::kQ5_1:
      return MatmulQ5_1(args, share);
    case DType::kQ8_0:
      return MatmulQ8_0(args, share);
    case DType::kIQ4_NL:
      return MatmulIq4Nl(args, share);
    case DType::kMXFP4:
      return MatmulMxfp4(args, share);
    case DType::kQ2_K:
      return MatmulQ2K(args, share);
    case DType::kQ3_K:
      return MatmulQ3K(args, share);
    case DType::kQ4_K:
      return MatmulQ4K(args, share);
    case DType::kQ5_K:
      return MatmulQ5K(args, share);
    case DType::kQ6_K:
      return MatmulQ6K(args, share);
    case DType::kIQ4_XS:
      return MatmulIq4Xs(args, share);
    default:
      return;
  }
}

}  // namespace vt
