#include "cpu/avx512vnni/q15_types.h"

namespace vt {

void MatmulQ15Avx512Vnni(const MatmulArgs& args, const MatmulShare& share) {
  using namespace avx512vnni;
  switch (args.w.type) {
    VT_Q15_TYPES(VT_DISPATCH_Q15)
    default:
      return;
  }
}

}  // namespace vt
