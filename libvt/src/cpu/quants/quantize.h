// f32 to the weight types of model files: the inverse of dequantize.h.
//
// f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, tq1_0, tq2_0 and mxfp4 give the bytes that model
// converters write (gguf-py, gguf.quants); the other block types are searched for the least sum of
// squared errors, all values counting alike. What a quantised row decodes to is quantised to the
// same values again. Plain code on the caller's thread.
#pragma once

#include <cstdint>

#include "vt/dtype.h"
#include "vt/status.h"

namespace vt {

// Whether QuantizeRow knows the type: the types that FindDequantize knows.
bool CanQuantize(DType type);

// Encodes x[0, n) as n / block blocks. kInvalid, with nothing promised about `blocks`: a type that
// holds no weights, an n of no whole number of blocks, a value that is not finite or past what the
// type is made for (names its index).
Status QuantizeRow(DType type, const float* x, void* blocks, std::int64_t n);

}  // namespace vt
