#include "cpu/generic/attention.h"

#include "cpu/generic/vec16.h"

namespace vt {

void AttentionScalar(const AttentionArgs& args, Part part) { Attention<ScalarVec16>(args, part); }

}  // namespace vt
