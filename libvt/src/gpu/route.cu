#include "gpu/launchers.h"
#include "gpu/math.h"
#include "gpu/reduce.h"

namespace vt::VT_GPU_NAMESPACE {

constexpr int kRouted = static_cast<int>(kMostExperts);

struct RouteShape {
  std::int64_t experts;
  std::int64_t used;
  std::int64_t groups;
  std::int64_t groups_used;
  Gating gating;
  bool normalize;
  float scale;
};

// Sums in the order of the CPU's kernels, 16 lanes and their tree: a choice must not depend on how
// a sum was rounded. Both halves of the group of lanes compute it.
template <class Value>
VT_DEVICE float LaneSum(std::int64_t count, Value value) {
  constexpr int kLanes = 16;
  float sum = 0.0f;
  for (std::int64_t i = ThreadIndex() % kLanes; i < count; i += kLanes) sum += value(i);
  for (int mask = kLanes / 2; mask > 0; mask /= 2) sum += ShuffleXor(sum, mask);
  return sum;
}

// out = softmax of x, which out may be; a NaN reaches the sum.
template <class X>
VT_DEVICE void SoftmaxOfRow(const X& x, std::int64_t x_begin, const View<float>& out,
                            std::int64_t out_begin, std::int64_t count) {
  float most = -Infinity();
  for (std::int64_t i = ThreadIndex(); i < count; i += kGroup) {
    const float v = x[x_begin + i];
    most = v > most ? v : most;
  }
  most = GroupMax(most);
  Barrier();
  for (std::int64_t i = ThreadIndex(); i < count; i += kGroup) {
    out[out_begin + i] = Exp(x[x_begin + i] - most);
  }
  Barrier();
  const float sum =
      LaneSum(count, [&](std::int64_t i) { return static_cast<float>(out[out_begin + i]); });
  Barrier();
  for (std::int64_t i = ThreadIndex(); i < count; i += kGroup) {
    out[out_begin + i] = out[out_begin + i] / sum;
  }
  Barrier();
}

// The lowest index of the largest value that is not taken; it is taken then. Every lane gets it.
VT_DEVICE std::int64_t TakeLargest(const View<float>& values, const View<std::int32_t>& taken,
                                   std::int64_t count) {
  float value = -Infinity();
  std::int32_t index = 0x7fffffff;  // loses against -infinity by its index
  for (std::int64_t i = ThreadIndex(); i < count; i += kGroup) {
    const float v = values[i];
    if (taken[i] == 0 && (v > value || index == 0x7fffffff)) {
      value = v;
      index = static_cast<std::int32_t>(i);
    }
  }
  for (int mask = kGroup / 2; mask > 0; mask /= 2) {
    const float other = ShuffleXor(value, mask);
    const std::int32_t other_index = ShuffleXor(index, mask);
    if (other > value || (other == value && other_index < index)) {
      value = other;
      index = other_index;
    }
  }
  if (ThreadIndex() == 0) taken[index] = 1;
  Barrier();
  return index;
}

// The sum of the two largest of `count` values, or the largest alone.
VT_DEVICE float GroupValue(const View<float>& values, std::int64_t begin, std::int64_t count,
                           bool two) {
  float most = -Infinity(), next = -Infinity();
  for (std::int64_t i = begin; i < begin + count; ++i) {
    const float v = values[i];
    if (v > most) {
      next = most;
      most = v;
    } else if (v > next) {
      next = v;
    }
  }
  if (!two || count == 1) return most;
  const float sum = most + next;
  return sum == sum ? sum : -Infinity();
}

// A row to a block of one group of lanes: rows are short, and the choice is made value by value.
VT_KERNEL RouteKernel(View<const float> logits, View<const float> bias, View<std::int32_t> ids,
                      View<float> weights, RouteShape s) {
  VT_SHARED(float, scores, kRouted);
  VT_SHARED(float, values, kRouted);
  VT_SHARED(std::int32_t, taken, kRouted);
  VT_SHARED(float, group_values, kRouted);
  VT_SHARED(std::int32_t, group_taken, kRouted);
  const std::int64_t begin = BlockIndex() * s.experts;
  const std::int64_t out = BlockIndex() * s.used;
  if (s.gating == Gating::kSoftmax) SoftmaxOfRow(logits, begin, scores, 0, s.experts);
  for (std::int64_t i = ThreadIndex(); i < s.experts; i += kGroup) {
    if (s.gating == Gating::kSigmoid) {
      scores[i] = 1.0f / (1.0f + Exp(0.0f - logits[begin + i]));
    } else if (s.gating == Gating::kSoftmaxOfChosen) {
      scores[i] = logits[begin + i];
    }
  }
  Barrier();
  float nans = 0.0f;
  for (std::int64_t i = ThreadIndex(); i < s.experts; i += kGroup) {
    float b = scores[i];
    if (bias) b += bias[i];
    if (b != b) nans = 1.0f;
    values[i] = b == b ? b : -Infinity();
    taken[i] = s.groups == 1 ? 0 : 1;
  }
  nans = GroupMax(nans);
  Barrier();
  if (s.groups > 1) {
    const std::int64_t size = s.experts / s.groups;
    for (std::int64_t g = ThreadIndex(); g < s.groups; g += kGroup) {
      group_values[g] = GroupValue(values, g * size, size, static_cast<bool>(bias));
      group_taken[g] = 0;
    }
    Barrier();
    for (std::int64_t i = 0; i < s.groups_used; ++i) {
      const std::int64_t g = TakeLargest(group_values, group_taken, s.groups);
      for (std::int64_t e = ThreadIndex(); e < size; e += kGroup) taken[g * size + e] = 0;
    }
    Barrier();
  }
  for (std::int64_t j = 0; j < s.used; ++j) {
    const std::int64_t id = TakeLargest(values, taken, s.experts);
    if (ThreadIndex() == 0) {
      ids[out + j] = static_cast<std::int32_t>(id);
      weights[out + j] = nans > 0.0f ? Infinity() - Infinity() : static_cast<float>(scores[id]);
    }
  }
  Barrier();
  if (s.gating == Gating::kSoftmaxOfChosen) SoftmaxOfRow(weights, out, weights, out, s.used);
  float divisor = 1.0f;
  if (s.normalize) {
    const float sum =
        LaneSum(s.used, [&](std::int64_t j) { return static_cast<float>(weights[out + j]); });
    divisor = sum < 0x1p-14f ? 0x1p-14f : sum;
    Barrier();
  }
  for (std::int64_t j = ThreadIndex(); j < s.used; j += kGroup) {
    float w = weights[out + j];
    if (s.normalize) w = w / divisor;
    weights[out + j] = w * s.scale;
  }
}

Status LaunchRoute(const RouteArgs& args, GpuStream& stream) {
  if (args.rows == 0) return {};
  const RouteShape shape{.experts = args.experts,
                         .used = args.used,
                         .groups = args.groups,
                         .groups_used = args.groups_used,
                         .gating = args.gating,
                         .normalize = args.normalize,
                         .scale = args.scale};
  return Launch(stream, RouteArgs::kOp, {.blocks = args.rows, .threads = kGroup}, RouteKernel,
                View<const float>(args.logits, args.rows * args.experts),
                View<const float>(args.selection_bias, args.experts),
                View<std::int32_t>(args.ids, args.rows * args.used),
                View<float>(args.weights, args.rows * args.used), shape);
}

}  // namespace vt::VT_GPU_NAMESPACE
