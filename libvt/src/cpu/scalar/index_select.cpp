#include "cpu/generic/index_select.h"

#include "cpu/generic/vec16.h"

namespace vt {

void IndexSelectScalar(const IndexSelectArgs& args, Part part) {
  IndexSelect<ScalarVec16>(args, part);
}

}  // namespace vt
