#include "cpu/generic/attention.h"

#include "cpu/avx512/vec16_avx512.h"

namespace vt {

void AttentionAvx512(const AttentionArgs& args, Part part) { Attention<Avx512Vec16>(args, part); }

}  // namespace vt
