// Makes a tensor that is cut out of a stored matrix.
#pragma once

#include <cstddef>

#include "vt/gguf.h"

namespace vt {

// Of the tensor that the cut makes.
DType TypeOf(const GgufCut& cut);

// `matrix` and `scales` are the stored bytes; `out` has room for matrices * taken_rows *
// stored_cols values of TypeOf(cut).
void CopyCut(const GgufCut& cut, const std::byte* matrix, const std::byte* scales, std::byte* out);

}  // namespace vt
