#include "gpu/launchers.h"
#include "gpu/math.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

// A NaN is the second operand of a bound, and stays.
VT_DEVICE float Least(float a, float b) { return a < b ? a : b; }
VT_DEVICE float Most(float a, float b) { return a > b ? a : b; }

VT_KERNEL GatedReluKernel(View<const float> gate, View<const float> up, View<float> out,
                          std::int64_t count) {
  const std::int64_t i = PointIndex();
  if (i < count) out[i] = Most(0.0f, gate[i]) * up[i];
}

VT_KERNEL ClampedSwigluKernel(View<const float> gate, View<const float> up, View<float> out,
                              std::int64_t count, float limit) {
  const std::int64_t i = PointIndex();
  if (i >= count) return;
  const float g = Least(limit, gate[i]);
  const float u = Least(limit, Most(-limit, up[i]));
  out[i] = g / (1.0f + Exp(g * -1.702f)) * (u + 1.0f);
}

Status LaunchGatedAct(const GatedActArgs& args, GpuStream& stream) {
  if (args.count == 0) return {};
  const View<const float> gate(args.gate, args.count), up(args.up, args.count);
  const View<float> out(args.out, args.count);
  const LaunchShape shape = PointwiseShape(args.count);
  if (args.act == GatedActKind::kRelu) {
    return Launch(stream, GatedActArgs::kOp, shape, GatedReluKernel, gate, up, out, args.count);
  }
  return Launch(stream, GatedActArgs::kOp, shape, ClampedSwigluKernel, gate, up, out, args.count,
                args.limit);
}

}  // namespace vt::VT_GPU_NAMESPACE
