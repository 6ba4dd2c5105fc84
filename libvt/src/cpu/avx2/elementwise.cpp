#include "cpu/elementwise.h"

#include "cpu/avx2/vec16_avx2.h"
#include "cpu/generic/elementwise.h"

namespace vt {

const ElementwiseKernels kAvx2Elementwise = MakeElementwiseKernels<Avx2Vec16>();

}  // namespace vt
