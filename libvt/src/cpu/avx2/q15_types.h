// The matmul of each weight type, for the dispatcher.
#pragma once

#include "cpu/matmul.h"

namespace vt::avx2 {

void MatmulQ4_0(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ4_1(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ5_0(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ5_1(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ8_0(const MatmulArgs& args, const MatmulShare& share);
void MatmulIq4Nl(const MatmulArgs& args, const MatmulShare& share);
void MatmulMxfp4(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ2K(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ3K(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ4K(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ5K(const MatmulArgs& args, const MatmulShare& share);
void MatmulQ6K(const MatmulArgs& args, const MatmulShare& share);
void MatmulIq4Xs(const MatmulArgs& args, const MatmulShare& share);

}  // namespace vt::avx2
