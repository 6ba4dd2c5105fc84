// Body of short_conv, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/state_runs.h"
#include "cpu/generic/vec_math.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// The channels that are done at a time, and their weights, tap by tap.
inline constexpr std::int64_t kConvChannels = 64;
struct ConvBlock {
  std::int64_t first;
  std::int64_t count;
  float w[kMostConvTaps * kConvChannels];
};

template <class V>
void ConvRun(const ShortConvArgs& args, const ConvBlock& block, const StateRun& run) {
  using F = typename V::F;
  const float zeros[kConvChannels] = {};
  const std::int64_t stride = args.x_stride == 0 ? args.channels : args.x_stride;
  const std::int64_t before = args.taps - 1;
  float* state = args.state + run.slot * before * args.channels + block.first;
  // The input at row t of the run, -before <= t.
  const auto input = [&](std::int64_t t) -> const float* {
    if (t >= 0) return args.x + (run.begin + t) * stride + block.first;
    return run.fresh ? zeros : state + (t + before) * args.channels;
  };
  const std::int64_t length = run.end - run.begin;
  for (std::int64_t t = 0; t < length; ++t) {
    const float* in[kMostConvTaps];
    for (std::int64_t i = 0; i < args.taps; ++i) in[i] = input(t - before + i);
    float* out = args.out + (run.begin + t) * args.channels + block.first;
    ForVectors(block.count, [&](std::int64_t c, int n) {
      F sum = V::Mul(V::Load(block.w + c), LoadN<V>(in[0] + c, n));
      for (std::int64_t i = 1; i < args.taps; ++i) {
        sum = V::Fma(V::Load(block.w + i * kConvChannels + c), LoadN<V>(in[i] + c, n), sum);
      }
      if (args.bias) sum = V::Add(sum, LoadN<V>(args.bias + block.first + c, n));
      StoreN<V>(out + c, args.silu ? Silu<V>(sum) : sum, n);
    });
  }
  // Oldest first: what is read of the old state lies behind what is written.
  for (std::int64_t j = 0; j < before; ++j) {
    const float* in = input(length - before + j);
    for (std::int64_t c = 0; c < block.count; ++c) state[j * args.channels + c] = in[c];
  }
}

template <class V>
void ShortConv(const ShortConvArgs& args, Part part) {
  const Range channels = Share(args.channels, part, kLanes);
  ConvBlock block = {};
  for (block.first = channels.begin; block.first < channels.end; block.first += kConvChannels) {
    const std::int64_t left = channels.end - block.first;
    block.count = left < kConvChannels ? left : kConvChannels;
    for (std::int64_t c = 0; c < block.count; ++c) {
      for (std::int64_t i = 0; i < args.taps; ++i) {
        block.w[i * kConvChannels + c] = args.w[(block.first + c) * args.taps + i];
      }
    }
    ForStateRuns(args.row, args.rows, [&](const StateRun& run) { ConvRun<V>(args, block, run); });
  }
}

}  // namespace
}  // namespace vt
