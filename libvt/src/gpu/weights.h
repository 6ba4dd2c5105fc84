// How kernels read the rows of a Weight. Block layouts are those of the GGUF specification.
#pragma once

#include "gpu/math.h"
#include "ops/args.h"

namespace vt::VT_GPU_NAMESPACE {

using Bytes = View<const std::uint8_t>;

// All bytes of a weight.
inline Bytes BytesOf(const Weight& w) {
  return {static_cast<const std::uint8_t*>(w.data),
          w.rows * static_cast<std::int64_t>(RowBytes(w.type, static_cast<std::uint64_t>(w.cols)))};
}

// q8_0: 32 values in 34 bytes, an f16 scale and the values as signed bytes.
inline constexpr int kQ8_0Values = 32;
inline constexpr int kQ8_0Bytes = 34;

// q4_k: 256 values in 144 bytes. Two f16, d and dmin; 12 bytes with a 6-bit scale and minimum for
// each of 8 runs of 32 values; then four times 32 bytes whose low halves are one run and whose high
// halves are the next. value = d * scale * nibble - dmin * minimum.
inline constexpr int kQ4_KValues = 256;
inline constexpr int kQ4_KBytes = 144;
inline constexpr int kQ4_KNibbles = 16;  // where they begin

struct ScaleAndMin {
  float scale;
  float min;
};
// Of run `run` of the q4_k block at byte `at`.
VT_DEVICE ScaleAndMin ReadQ4_KScale(const Bytes& bytes, std::int64_t at, int run) {
  const float d = F16ToF32(bytes.Load<std::uint16_t>(at));
  const float dmin = F16ToF32(bytes.Load<std::uint16_t>(at + 2));
  const int byte = run % 4;
  const std::uint32_t a = bytes[at + 4 + byte];
  const std::uint32_t b = bytes[at + 8 + byte];
  std::uint32_t scale = a & 63u;
  std::uint32_t min = b & 63u;
  if (run >= 4) {
    const std::uint32_t c = bytes[at + 12 + byte];
    scale = (c & 15u) | (a >> 2 & 0x30u);
    min = c >> 4 | (b >> 2 & 0x30u);
  }
  return {d * static_cast<float>(scale), dmin * static_cast<float>(min)};
}

}  // namespace vt::VT_GPU_NAMESPACE
