#include "cpu/generic/attention.h"

#include "cpu/avx2/vec16_avx2.h"

namespace vt {

void AttentionAvx2(const AttentionArgs& args, Part part) { Attention<Avx2Vec16>(args, part); }

}  // namespace vt
