#include "cpu/avx2/q15_types.h"

namespace vt {

void MatmulQ15Avx2(const MatmulArgs& args, const MatmulShare& share) {
  using namespace avx2;
  switch (args.w.type) {
    VT_Q15_TYPES(VT_DISPATCH_Q15)
    default:
      return;
  }
}

}  // namespace vt
