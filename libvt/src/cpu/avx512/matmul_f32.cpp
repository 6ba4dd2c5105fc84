#include "cpu/generic/matmul_f32.h"

#include "cpu/avx512/vec16_avx512.h"
#include "cpu/generic/embed.h"
#include "cpu/generic/f8_rows.h"
#include "cpu/generic/quantize.h"

namespace vt {

void MatmulF32Avx512(const MatmulArgs& args, const MatmulShare& share) {
  MatmulF32<Avx512Vec16>::Run(args, share);
}

void EmbedAvx512(const EmbedArgs& args, const MatmulShare& share) {
  EmbedRows<Avx512Vec16>(args, share);
}

void QuantizeAvx512(const QuantizeArgs& args, Range groups) {
  QuantizeGroups<Avx512Vec16>(args, groups);
}

void DequantF8Avx512(const DequantFp8Args& args, Range rows) {
  DequantF8Rows<Avx512Vec16>(args, rows);
}

}  // namespace vt
