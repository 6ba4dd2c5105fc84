#include "cpu/generic/index_select.h"

#include "cpu/avx512/vec16_avx512.h"

namespace vt {

void IndexSelectAvx512(const IndexSelectArgs& args, Part part) {
  IndexSelect<Avx512Vec16>(args, part);
}

}  // namespace vt
