#include "cpu/generic/matmul_f32.h"

#include "cpu/avx2/vec16_avx2.h"
#include "cpu/generic/embed.h"
#include "cpu/generic/f8_rows.h"
#include "cpu/generic/quantize.h"

namespace vt {

void MatmulF32Avx2(const MatmulArgs& args, const MatmulShare& share) {
  MatmulF32<Avx2Vec16>::Run(args, share);
}

void EmbedAvx2(const EmbedArgs& args, const MatmulShare& share) {
  EmbedRows<Avx2Vec16>(args, share);
}

void QuantizeAvx2(const QuantizeArgs& args, Range groups) {
  QuantizeGroups<Avx2Vec16>(args, groups);
}

void DequantF8Avx2(const DequantFp8Args& args, Range rows) { DequantF8Rows<Avx2Vec16>(args, rows); }

}  // namespace vt
