// How attention reads the KV cache: values of a head by cell type, and the cells of positions.
#pragma once

#include <cstdint>

#include "cpu/elementwise.h"
#include "cpu/generic/vec16.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"

namespace vt {
namespace {

// How 16 values of a head are read from its place in a cell. LoadPartial takes the first n.
template <class V>
struct F32Cells {
  static constexpr bool kIsF32 = true;
  static std::int64_t Offset(std::int64_t dim) { return dim * 4; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    return V::Load(reinterpret_cast<const float*>(head) + dim);
  }
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::LoadPartial(reinterpret_cast<const float*>(head) + dim, n);
  }
};
template <class V>
struct F16Cells {
  static constexpr bool kIsF32 = false;
  static std::int64_t Offset(std::int64_t dim) { return dim * 2; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    return V::LoadF16(reinterpret_cast<const std::uint16_t*>(head) + dim);
  }
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::LoadF16Partial(reinterpret_cast<const std::uint16_t*>(head) + dim, n);
  }
};
template <class V>
struct Bf16Cells {
  static constexpr bool kIsF32 = false;
  static std::int64_t Offset(std::int64_t dim) { return dim * 2; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    return V::LoadBf16(reinterpret_cast<const std::uint16_t*>(head) + dim);
  }
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::LoadBf16Partial(reinterpret_cast<const std::uint16_t*>(head) + dim, n);
  }
};
template <class V>
struct Q8Cells {
  static constexpr bool kIsF32 = false;
  static std::int64_t Offset(std::int64_t dim) { return dim / 32 * kQ8BlockBytes; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    const char* block = head + Offset(dim);
    const float scale = V::HalfToFloat(*reinterpret_cast<const std::uint16_t*>(block));
    const auto* values = reinterpret_cast<const std::int8_t*>(block + 2 + dim % 32);
    return V::Mul(V::LoadI8(values), V::Splat(scale));
  }
  // Never called: dimensions are a multiple of 32.
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::FirstLanes(Load(head, dim), n);
  }
};

// Values dim .. dim + count of a head as f32. dim is a multiple of 16.
template <class V, class Cells>
VT_VEC_INLINE void DecodeCell(const char* head, std::int64_t dim, std::int64_t count, float* out) {
  ForVectors(count, [&](std::int64_t i, int n) {
    StoreN<V>(out + i,
              n == kLanes ? Cells::Load(head, dim + i) : Cells::LoadPartial(head, dim + i, n), n);
  });
}

// Positions per block: 64 cells of 128 half-precision values fill half of a 32 KiB cache.
inline constexpr int kBlock = 64;
// Cells fetched ahead of use. A head's part of a cell is small and far from the next, a pattern
// that processors do not foresee where cells are large: one row, 8 key heads of 128 halves, 16384
// positions on one Sapphire Rapids core went from 5.6 to 9.2 GB/s.
inline constexpr int kAhead = 8;
// The places of one key head in the cells of positions begin .. begin + count, and of the next
// kAhead, as far as there are any (the last again where there are none).
struct CellBlock {
  const char* head[kBlock + kAhead];
  int count = 0;
  int head_bytes = 0;

  void Fetch(int cell) const {
    for (int i = 0; i < head_bytes; i += 64) __builtin_prefetch(head[cell + kAhead] + i);
  }
};

inline void FindCells(const KvCells& cells, std::int64_t offset, std::int64_t page_cells,
                      const AttentionRow& row, std::int64_t begin, CellBlock& block) {
  const std::int64_t left = row.last + 1 - begin;
  block.count = left < kBlock ? static_cast<int>(left) : kBlock;
  std::int64_t page = begin / page_cells;
  std::int64_t in_page = begin % page_cells;
  const int wanted = left < kBlock + kAhead ? static_cast<int>(left) : kBlock + kAhead;
  for (int i = 0; i < wanted; ++i) {
    const std::int64_t cell = row.pages[page] * page_cells + in_page;
    block.head[i] = static_cast<const char*>(cells.data) + cell * cells.cell_bytes + offset;
    if (++in_page == page_cells) {
      in_page = 0;
      ++page;
    }
  }
  for (int i = wanted; i < block.count + kAhead; ++i) block.head[i] = block.head[wanted - 1];
}

// Calls fn with the reader of `type`, which supports() has let through.
template <class V, class Fn>
VT_VEC_INLINE void WithCells(DType type, Fn fn) {
  switch (type) {
    case DType::kF32:
      return fn(F32Cells<V>{});
    case DType::kF16:
      return fn(F16Cells<V>{});
    case DType::kBF16:
      return fn(Bf16Cells<V>{});
    default:
      return fn(Q8Cells<V>{});
  }
}

}  // namespace
}  // namespace vt
