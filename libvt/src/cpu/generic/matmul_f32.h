// Matmul with f32 activations, a body over the 16-lane vector.
//
// Rows of w are taken kRows at a time and rows of x kCols at a time, so that each load serves
// several accumulators; the accumulators of one output are never split, so its value does not
// depend on the tiling. Block formats and f8 rows with their scales are decoded 256 values at a
// time to a buffer that stays in the first-level cache.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/generic/f8_rows.h"
#include "cpu/generic/vec16.h"
#include "cpu/matmul.h"

namespace vt {
namespace {

// How a row of plain weights loads.
template <class V>
struct F32Row {
  using Value = float;
  VT_VEC_INLINE typename V::F Load(const float* p) { return V::Load(p); }
  VT_VEC_INLINE typename V::F LoadPartial(const float* p, int n) { return V::LoadPartial(p, n); }
};
template <class V>
struct F16Row {
  using Value = std::uint16_t;
  VT_VEC_INLINE typename V::F Load(const Value* p) { return V::LoadF16(p); }
  VT_VEC_INLINE typename V::F LoadPartial(const Value* p, int n) { return V::LoadF16Partial(p, n); }
};
template <class V>
struct Bf16Row {
  using Value = std::uint16_t;
  VT_VEC_INLINE typename V::F Load(const Value* p) { return V::LoadBf16(p); }
  VT_VEC_INLINE typename V::F LoadPartial(const Value* p, int n) {
    return V::LoadBf16Partial(p, n);
  }
};

template <class V>
class MatmulF32 {
  using F = typename V::F;
  static constexpr bool kWide = V::kAccumulators >= 16;
  static constexpr int kRows = kWide ? 4 : 2;  // rows of w in a tile
  static constexpr int kCols = kWide ? 4 : 2;  // rows of x in a tile
  static constexpr int kBlockCols = 32;        // rows of x between two passes over w
  static constexpr int kDecoded = 256;         // values decoded at a time

  // How weights come to be multiplied: as they lie, or decoded to f32 first.
  enum class Source { kPlain, kBlocks, kF8 };

 public:
  static void Run(const MatmulArgs& args, const MatmulShare& share) {
    switch (args.w.type) {
      case DType::kF32:
        return AllRows<F32Row<V>, Source::kPlain>(args, share);
      case DType::kF16:
        return AllRows<F16Row<V>, Source::kPlain>(args, share);
      case DType::kBF16:
        return AllRows<Bf16Row<V>, Source::kPlain>(args, share);
      case DType::kF8_E4M3:
        return AllRows<F32Row<V>, Source::kF8>(args, share);
      default:
        return AllRows<F32Row<V>, Source::kBlocks>(args, share);
    }
  }

 private:
  template <class Row, Source kSource>
  static void AllRows(const MatmulArgs& args, const MatmulShare& share) {
    for (std::int64_t x0 = 0; x0 < args.m; x0 += kBlockCols) {
      const int count = args.m - x0 < kBlockCols ? static_cast<int>(args.m - x0) : kBlockCols;
      std::int64_t r = share.rows.begin;
      // One row of x leaves registers free for twice the rows of w.
      if (count == 1) {
        for (; r + 2 * kRows <= share.rows.end; r += 2 * kRows) {
          SomeRows<Row, kSource, 2 * kRows>(args, share, r, x0, count);
        }
      }
      for (; r + kRows <= share.rows.end; r += kRows) {
        SomeRows<Row, kSource, kRows>(args, share, r, x0, count);
      }
      for (; r < share.rows.end; ++r) SomeRows<Row, kSource, 1>(args, share, r, x0, count);
    }
  }

  // Rows r .. r + kR - 1 of w times rows x0 .. x0 + count - 1 of x.
  template <class Row, Source kSource, int kR>
  static void SomeRows(const MatmulArgs& args, const MatmulShare& share, std::int64_t r,
                       std::int64_t x0, int count) {
    using Value = typename Row::Value;
    const std::int64_t k = args.w.cols;
    const std::int64_t x_stride = share.x_stride != 0 ? share.x_stride : k;
    const std::int64_t out_stride = share.out_stride != 0 ? share.out_stride : args.w.rows;
    const auto* bytes = static_cast<const std::uint8_t*>(args.w.data) + r * share.row_bytes;
    F sums[kBlockCols * kR];
    for (int i = 0; i < count * kR; ++i) sums[i] = V::Splat(0.0f);
    const Value* w[kR];
    if constexpr (kSource != Source::kPlain) {
      float decoded[kR * kDecoded];
      for (std::int64_t k0 = 0; k0 < k; k0 += kDecoded) {
        const std::int64_t length = k - k0 < kDecoded ? k - k0 : kDecoded;
        for (int i = 0; i < kR; ++i) {
          float* out = decoded + i * kDecoded;
          if constexpr (kSource == Source::kF8) {
            DecodeF8Row<V>(args.w, r + i, k0, length, out);
          } else {
            // Whole blocks: 256 is a multiple of every block, and so k0's bytes divide evenly.
            share.decode(bytes + i * share.row_bytes + k0 * share.row_bytes / k, out, length);
          }
          w[i] = out;
        }
        AllColumns<Row, kR>(w, args.x + x0 * x_stride + k0, x_stride, length, count, sums);
      }
    } else {
      for (int i = 0; i < kR; ++i) {
        w[i] = reinterpret_cast<const Value*>(bytes + i * share.row_bytes);
      }
      AllColumns<Row, kR>(w, args.x + x0 * x_stride, x_stride, k, count, sums);
    }
    for (int c = 0; c < count; ++c) {
      float* out = args.out + (x0 + c) * out_stride + r;
      for (int i = 0; i < kR; ++i) {
        float value = V::ReduceAdd(sums[c * kR + i]);
        if (args.bias) value += args.bias[r + i];
        out[i] = args.accumulate ? value + out[i] : value;
      }
    }
  }

  // sums[c * kR + i] += the products of w[i] and row c of x (rows `stride` apart), `length` long.
  template <class Row, int kR>
  static void AllColumns(const typename Row::Value* const* w, const float* x, std::int64_t stride,
                         std::int64_t length, int count, F* sums) {
    int c = 0;
    if constexpr (kR <= kRows) {
      for (; c + kCols <= count; c += kCols) {
        Tile<Row, kR, kCols>(w, x + c * stride, stride, length, sums + c * kR);
      }
    }
    for (; c < count; ++c) Tile<Row, kR, 1>(w, x + c * stride, stride, length, sums + c * kR);
  }

  template <class Row, int kR, int kC>
  static void Tile(const typename Row::Value* const* w, const float* x, std::int64_t stride,
                   std::int64_t length, F* sums) {
    F acc[kR * kC];
    for (int i = 0; i < kR * kC; ++i) acc[i] = sums[i];
    std::int64_t j = 0;
    for (; j + kLanes <= length; j += kLanes) {
      F xs[kC];
      for (int c = 0; c < kC; ++c) xs[c] = V::Load(x + c * stride + j);
      for (int i = 0; i < kR; ++i) {
        // Fetch the rows that come next. Not f32's: so far ahead they would crowd out the present.
        if constexpr (sizeof(*w[i]) == 2) __builtin_prefetch(w[i] + j + kR * length);
        const F weight = Row::Load(w[i] + j);
        for (int c = 0; c < kC; ++c) acc[c * kR + i] = V::Fma(weight, xs[c], acc[c * kR + i]);
      }
    }
    if (j < length) {
      const int rest = static_cast<int>(length - j);
      for (int i = 0; i < kR; ++i) {
        const F weight = Row::LoadPartial(w[i] + j, rest);
        for (int c = 0; c < kC; ++c) {
          const F value = V::LoadPartial(x + c * stride + j, rest);
          acc[c * kR + i] = V::Fma(weight, value, acc[c * kR + i]);
        }
      }
    }
    for (int i = 0; i < kR * kC; ++i) sums[i] = acc[i];
  }
};

}  // namespace
}  // namespace vt
