#pragma once

#include <cstdint>

#include "ops/expert_limits.h"
#include "ops/types.h"

namespace vt {

// From a router's logits to the chosen experts of each row and their weights.
//
//   s = softmax(logits), sigmoid(logits), or the logits themselves (softmax of the chosen)
//   b = s + selection_bias
//   With groups > 1 the experts form that many equal groups; only the groups_used groups with the
//   largest value take part: the sum of a group's two largest b, or its largest where there is no
//   selection_bias or a group has one expert. Of equal groups the lower index.
//   ids[r, :] = the `used` experts with the largest b, largest first; of equals the lower index.
//   weights[r, j] = s of ids[r, j]; softmax over the chosen where gating says so; divided by their
//   sum, at least 2^-14, when normalize; times scale.
//
// A NaN among b counts as -infinity for the choice, so that ids are valid and differ, and makes all
// weights of its row NaN, chosen or not. The same ids on every device: each computes s and the sums
// to the same bits. experts is at most kMostExperts.
enum class Gating : std::uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen };
struct RouteArgs {
  static constexpr const char* kOp = "route";
  const float* logits = nullptr;          // [rows, experts]
  const float* selection_bias = nullptr;  // [experts] or null
  std::int64_t rows = 0;
  std::int64_t experts = 0;
  std::int64_t used = 0;
  std::int64_t groups = 1;
  std::int64_t groups_used = 1;
  Gating gating = Gating::kSoftmax;
  bool normalize = false;
  float scale = 1.0f;
  std::int32_t* ids = nullptr;  // [rows, used]
  float* weights = nullptr;     // [rows, used]
};

}  // namespace vt
