#include "cpu/elementwise.h"

#include "cpu/generic/elementwise.h"
#include "cpu/generic/vec16.h"

namespace vt {

const ElementwiseKernels kScalarElementwise = MakeElementwiseKernels<ScalarVec16>();

}  // namespace vt
