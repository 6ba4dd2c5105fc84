#include "cpu/elementwise.h"

#include "cpu/avx512/vec16_avx512.h"
#include "cpu/generic/elementwise.h"

namespace vt {

const ElementwiseKernels kAvx512Elementwise = MakeElementwiseKernels<Avx512Vec16>();

}  // namespace vt
