// Rows of the op table for head_matmul: a matmul for each head.
#include <algorithm>

#include "cpu/matmul.h"
#include "cpu/register.h"
#include "cpu/weights.h"
#include "ops/op_facts.h"

namespace vt {
namespace {

Support Supports(const HeadMatmulArgs& args) {
  return ShapeCheck().And(CheckAnyWeight(args.w)).And(FactsOf<HeadMatmulArgs>().check_shape(args));
}

// With more rows of x than one pass of the matmul takes, weights that it would decode anew for each
// pass are decoded once, so many values at a time: half of a second-level cache of 256 KiB.
constexpr std::int64_t kOnePass = 32;
constexpr std::int64_t kDecoded = 32 * 1024;

bool IsDecoded(DType type) {
  return type != DType::kF32 && type != DType::kF16 && type != DType::kBF16;
}

// Rows of w as f32.
template <DequantF8Fn kDequant>
void Decode(const Weight& w, const MatmulShare& share, float* out) {
  if (w.type == DType::kF8_E4M3) {
    kDequant({.w = w, .out = out}, {0, w.rows});
    return;
  }
  for (std::int64_t r = 0; r < w.rows; ++r) {
    share.decode(static_cast<const std::uint8_t*>(w.data) + r * share.row_bytes, out + r * w.cols,
                 w.cols);
  }
}

// `product` in pieces of rows that fit the buffer when decoded.
template <MatmulFn kMatmul, DequantF8Fn kDequant>
void DecodedMatmul(const MatmulArgs& product, const MatmulShare& share) {
  float decoded[kDecoded];
  const std::int64_t most = kDecoded / product.w.cols;
  for (std::int64_t r = 0; r < product.w.rows; r += most) {
    MatmulArgs piece = product;
    piece.w.rows = std::min(most, product.w.rows - r);
    piece.w.data = static_cast<const std::uint8_t*>(product.w.data) + r * share.row_bytes;
    piece.w.scales.first_row += r;
    piece.out += r;
    Decode<kDequant>(piece.w, share, decoded);
    piece.w = {.rows = piece.w.rows, .cols = piece.w.cols, .data = decoded};
    MatmulShare all = ShareOf(piece.w, {0, piece.w.rows});
    all.x_stride = share.x_stride;
    all.out_stride = share.out_stride;
    kMatmul(piece, all);
  }
}

template <MatmulFn kMatmul, DequantF8Fn kDequant>
void Run(const HeadMatmulArgs& args, Part part) {
  const Range rows = Share(args.w.rows, part, kRowGrain);
  if (args.rows == 0 || rows.begin >= rows.end) return;
  const std::int64_t n = args.w.rows / args.heads;
  const std::int64_t x_stride = args.x_stride != 0 ? args.x_stride : args.w.cols;
  const std::int64_t out_stride = args.out_stride != 0 ? args.out_stride : n;
  for (std::int64_t r = rows.begin; r < rows.end;) {
    const std::int64_t head = r / n;
    const std::int64_t end = std::min(rows.end, (head + 1) * n);
    MatmulArgs one{.w = args.w, .x = args.x + head * x_stride, .m = args.rows};
    one.w.rows = end - r;
    MatmulShare share = ShareOf(one.w, {0, one.w.rows});
    share.x_stride = args.heads * x_stride;
    share.out_stride = args.heads * out_stride;
    one.w.data = static_cast<const std::uint8_t*>(args.w.data) + r * share.row_bytes;
    one.w.scales.first_row += r;
    one.out = args.out + head * out_stride + r % n;
    if (IsDecoded(args.w.type) && args.rows > kOnePass && args.w.cols > 0 &&
        args.w.cols <= kDecoded) {
      DecodedMatmul<kMatmul, kDequant>(one, share);
    } else {
      kMatmul(one, share);
    }
    r = end;
  }
}

int Parts(const HeadMatmulArgs& args) {
  return ProductParts(args.w.rows, args.w.rows * args.w.cols * args.rows);
}

}  // namespace

void RegisterCpuHeadMatmul(Registry& registry) {
  using Args = HeadMatmulArgs;
  AddRow<Args>(registry, kScalarF32Row, Supports, Run<MatmulF32Scalar, DequantF8Scalar>, Parts);
  AddRow<Args>(registry, kAvx2F32Row, Supports, Run<MatmulF32Avx2, DequantF8Avx2>, Parts);
  AddRow<Args>(registry, kAvx512F32Row, Supports, Run<MatmulF32Avx512, DequantF8Avx512>, Parts);
}

}  // namespace vt
