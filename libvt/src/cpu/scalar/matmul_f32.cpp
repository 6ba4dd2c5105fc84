#include "cpu/generic/matmul_f32.h"

#include "cpu/generic/embed.h"
#include "cpu/generic/f8_rows.h"
#include "cpu/generic/quantize.h"
#include "cpu/generic/vec16.h"

namespace vt {

void MatmulF32Scalar(const MatmulArgs& args, const MatmulShare& share) {
  MatmulF32<ScalarVec16>::Run(args, share);
}

void EmbedScalar(const EmbedArgs& args, const MatmulShare& share) {
  EmbedRows<ScalarVec16>(args, share);
}

void QuantizeScalar(const QuantizeArgs& args, Range groups) {
  QuantizeGroups<ScalarVec16>(args, groups);
}

void DequantF8Scalar(const DequantFp8Args& args, Range rows) {
  DequantF8Rows<ScalarVec16>(args, rows);
}

}  // namespace vt
