#include "cpu/generic/index_select.h"

#include "cpu/avx2/vec16_avx2.h"

namespace vt {

void IndexSelectAvx2(const IndexSelectArgs& args, Part part) { IndexSelect<Avx2Vec16>(args, part); }

}  // namespace vt
