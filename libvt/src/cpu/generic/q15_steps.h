// How a matmul with 15-bit activations walks a row: steps of 8 groups, the last one padded.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/matmul.h"
#include "ops/args.h"

namespace vt {
namespace {

constexpr int kBlockCols = 32;  // rows of x between two passes over w
constexpr int kStepGroups = 8;
constexpr int kStepValues = 256;
// The most bytes that 8 groups of any type with blocks of 32 take (q8_0).
constexpr int kMaxStepBytes = 8 * 34;

// The activations of one row of x for one step.
struct StepInput {
  const std::int8_t* high;   // 256
  const std::int8_t* low;    // 256
  const float* scales;       // 8
  const std::int32_t* sums;  // 8
};

// The activations of the last, incomplete step, padded with zeros.
struct Tail {
  alignas(64) std::int8_t high[kBlockCols][kStepValues];
  alignas(64) std::int8_t low[kBlockCols][kStepValues];
  alignas(64) float scales[kBlockCols][kStepGroups];
  alignas(64) std::int32_t sums[kBlockCols][kStepGroups];
};

// Rows x0 to x0 + count.
inline void FillTail(const MatmulArgs& args, std::int64_t x0, int count, Tail& tail) {
  const std::int64_t groups = args.w.cols / kQ15Group;
  const std::int64_t first = groups / kStepGroups * kStepGroups;
  const auto rest = static_cast<unsigned>(groups - first);
  if (rest == 0) return;
  for (int c = 0; c < count; ++c) {
    const std::int64_t at = (x0 + c) * groups + first;
    std::memset(tail.high[c], 0, sizeof(tail.high[c]));
    std::memset(tail.low[c], 0, sizeof(tail.low[c]));
    std::memset(tail.scales[c], 0, sizeof(tail.scales[c]));
    std::memset(tail.sums[c], 0, sizeof(tail.sums[c]));
    std::memcpy(tail.high[c], args.q.high + at * kQ15Group, rest * kQ15Group);
    std::memcpy(tail.low[c], args.q.low + at * kQ15Group, rest * kQ15Group);
    std::memcpy(tail.scales[c], args.q.scales + at, rest * sizeof(float));
    std::memcpy(tail.sums[c], args.q.sums + at, rest * sizeof(std::int32_t));
  }
}

}  // namespace
}  // namespace vt
