// Block formats of model files to f32: the definition of what each format's bytes mean.
//
// One function per format, plain scalar code; blocks need no alignment. The layouts are those of
// GGUF tensors (ggml's block_* structures); each .cpp file describes the ones it decodes.
#pragma once

#include <cstdint>

#include "vt/dtype.h"

namespace vt {

// Decodes `n` values (a whole number of blocks) that start at `blocks`.
using DequantizeFn = void (*)(const void* blocks, float* out, std::int64_t n);

// The decoder of a weight type (f32, f16, bf16, f8_e4m3 and every block format); null for the
// integer types and f64, which hold no weights. Row scales are the caller's to apply.
DequantizeFn FindDequantize(DType type);

// FindDequantize(type) must not be null.
void DequantizeRow(DType type, const void* blocks, float* out, std::int64_t n);

}  // namespace vt
