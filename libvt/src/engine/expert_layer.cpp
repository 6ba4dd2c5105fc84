#include "engine/expert_layer.h"

#include <algorithm>

#include "ops/matmul_policy.h"

namespace vt {
namespace {

std::uint64_t WeightBytes(const Weight& w) {
  return RowBytes(w.type, static_cast<std::uint64_t>(w.cols)) * static_cast<std::uint64_t>(w.rows);
}

std::uint64_t Bytes(std::int64_t count, std::uint64_t element) {
  return AlignUp(static_cast<std::uint64_t>(count) * element);
}

}  // namespace

std::vector<AnyArgs> ExpertLayer::Calls(const ExpertWeights& weights, const Buffers& b,
                                        std::int64_t rows, DeviceKind device) {
  std::vector<AnyArgs> calls;
  const auto quantize = [&](const float* x, std::int64_t cols) {
    calls.push_back(QuantizeArgs{.x = x, .out = b.quantized, .rows = rows, .cols = cols});
  };
  const auto multiply = [&](const Weight& w, const float* x, float* out) {
    calls.push_back(ExpertMatmulArgs{.w = w,
                                     .experts = weights.experts,
                                     .act = MatmulActType(w.type, w.cols, false, device),
                                     .x = x,
                                     .q = b.quantized,
                                     .ids = b.ids,
                                     .rows = rows,
                                     .out = out});
  };
  const auto is_q15 = [&](const Weight& w) {
    return MatmulActType(w.type, w.cols, false, device) == ActType::kQ15;
  };
  if (is_q15(weights.gate) || is_q15(weights.up)) quantize(b.x, weights.width());
  multiply(weights.gate, b.x, b.gate);
  multiply(weights.up, b.x, b.up);
  const std::int64_t count = rows * weights.inner();
  if (weights.activation == Activation::kSilu) {
    calls.push_back(SiluMulArgs{.gate = b.gate, .up = b.up, .out = b.gate, .count = count});
  } else {
    calls.push_back(GeluMulArgs{.gate = b.gate, .up = b.up, .out = b.gate, .count = count});
  }
  if (is_q15(weights.down)) quantize(b.gate, weights.inner());
  multiply(weights.down, b.gate, b.out);
  return calls;
}

Result<ExpertLayer> ExpertLayer::Create(const ExpertWeights& weights, std::int64_t most_rows,
                                        Place host, Place preferred, const Registry& registry,
                                        const ResolveOptions& options) {
  const auto runs = [&](const Place& place) {
    return ResolveAll(registry, *place.device,
                      Calls(weights, Buffers{}, most_rows, place.device->kind), options);
  };
  ExpertLayer layer;
  layer.weights_ = weights;
  if (preferred.device != nullptr) {
    layer.place_ = preferred;
    Status status = runs(preferred);
    if (status.ok()) status = layer.Load(most_rows);
    if (status.ok()) return layer;
    layer = ExpertLayer();
    layer.weights_ = weights;
    layer.reason_ = status.message();
  }
  VT_RETURN_IF_ERROR(runs(host));
  layer.place_ = host;
  VT_RETURN_IF_ERROR(layer.Load(most_rows));
  return layer;
}

Status ExpertLayer::Load(std::int64_t most_rows) {
  const bool on_host = place_.device->kind == DeviceKind::kCpu;
  const std::int64_t width = weights_.width(), inner = weights_.inner();
  const std::int64_t widest = (std::max(width, inner) + kQ15Group - 1) / kQ15Group * kQ15Group;
  most_rows_ = most_rows;
  Weight* const matrices[] = {&weights_.gate, &weights_.up, &weights_.down};

  std::uint64_t bytes = 2 * Bytes(most_rows * width, sizeof(float)) +
                        2 * Bytes(most_rows * inner, sizeof(float)) +
                        Bytes(most_rows, sizeof(std::int32_t));
  if (on_host) {
    bytes += 2 * Bytes(most_rows * widest, 1) + 2 * Bytes(most_rows * (widest / kQ15Group), 4);
  } else {
    for (const Weight* w : matrices) bytes += AlignUp(WeightBytes(*w));
  }
  VT_ASSIGN_OR_RETURN(arena_, MakeArena(*place_.memory, bytes));

  Buffers& b = buffers_;
  b.x = arena_.TakeArray<float>(most_rows * width);
  b.out = arena_.TakeArray<float>(most_rows * width);
  b.gate = arena_.TakeArray<float>(most_rows * inner);
  b.up = arena_.TakeArray<float>(most_rows * inner);
  b.ids = arena_.TakeArray<std::int32_t>(most_rows);
  if (on_host) {
    b.quantized.high = arena_.TakeArray<std::int8_t>(most_rows * widest);
    b.quantized.low = arena_.TakeArray<std::int8_t>(most_rows * widest);
    b.quantized.scales = arena_.TakeArray<float>(most_rows * (widest / kQ15Group));
    b.quantized.sums = arena_.TakeArray<std::int32_t>(most_rows * (widest / kQ15Group));
  } else {
    for (Weight* w : matrices) {
      void* copy = arena_.Take(WeightBytes(*w));
      VT_RETURN_IF_ERROR(place_.memory->Upload(copy, w->data, WeightBytes(*w)));
      w->data = copy;
    }
  }
  if (arena_.taken() != arena_.capacity()) {
    return InternalError("expert layer: planned " + std::to_string(arena_.capacity()) +
                         " bytes, took " + std::to_string(arena_.taken()));
  }
  return {};
}

Status ExpertLayer::Step(const float* x, const std::int32_t* ids, std::int64_t rows, float* out) {
  if (rows > most_rows_) {
    return InternalError("expert layer: a step of " + std::to_string(rows) + " rows, planned for " +
                         std::to_string(most_rows_));
  }
  const auto row_bytes = static_cast<std::uint64_t>(rows * weights_.width()) * sizeof(float);
  VT_RETURN_IF_ERROR(place_.memory->Upload(buffers_.x, x, row_bytes));
  VT_RETURN_IF_ERROR(place_.memory->Upload(
      buffers_.ids, ids, static_cast<std::uint64_t>(rows) * sizeof(std::int32_t)));
  for (const AnyArgs& call : Calls(weights_, buffers_, rows, place_.device->kind)) {
    VT_RETURN_IF_ERROR(std::visit([&](const auto& args) { return place_.ops->Run(args); }, call));
  }
  VT_RETURN_IF_ERROR(place_.ops->Synchronize());
  return place_.memory->Download(out, buffers_.out, row_bytes);
}

}  // namespace vt
