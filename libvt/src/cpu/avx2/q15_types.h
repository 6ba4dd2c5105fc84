// The matmul of each weight type, for the dispatcher.
#pragma once

#include "cpu/generic/q15_types.h"

namespace vt::avx2 {

VT_Q15_TYPES(VT_DECLARE_Q15)

}  // namespace vt::avx2
