#include "engine/op_runner.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>

namespace vt {

std::string OpRunner::Place() const {
  return PlaceOf({.layer = layer_, .place = place_, .call = {}});
}

Status OpRunner::Interrupted() const { return {Code::kInterrupted, "interrupted"}; }

Status OpRunner::Inspect(const float* values, std::int64_t count, std::string_view op,
                         std::string_view kernel) const {
  const float* end = values + count;
  const float* nan =
      setup_->check ? std::find_if(values, end, [](float v) { return std::isnan(v); }) : end;
  if (nan != end) {
    return {Code::kNo, "op " + std::string(op) + " at " + Place() + " (kernel " +
                           std::string(kernel) + "): first NaN of this run, at element " +
                           std::to_string(nan - values) + " of " + std::to_string(count) +
                           "; its inputs had none"};
  }
  return {};
}

Status OpRunner::EndLayer(int layer, const float* stream, std::int64_t rows, std::int64_t cols) {
  if (dry() || !setup_->on_op) return {};
  VT_RETURN_IF_ERROR(Synchronize());
  return setup_->on_op({layer, kLayerEnd, "", "", {stream, static_cast<std::size_t>(rows * cols)}});
}

Status OpRunner::Synchronize() {
  if (!setup_ || !setup_->stream) return {};
  const Status done = setup_->stream->Synchronize();
  if (setup_->on_wait) setup_->on_wait(done.ok());
  return done;
}

std::vector<KernelLaunches> OpRunner::Launches() const {
  std::vector<KernelLaunches> rows;
  for (const auto& [row, launch] : launches_) {
    rows.push_back({launch.op, setup_->device.id, launch.kernel, std::string(NameOf(launch.tier)),
                    launch.count});
  }
  std::sort(rows.begin(), rows.end(), [](const KernelLaunches& a, const KernelLaunches& b) {
    return std::tie(a.op, a.kernel) < std::tie(b.op, b.kernel);
  });
  return rows;
}

template <class Args>
Status OpRunner::CheckOutput(const Args& args, std::string_view kernel) {
  VT_RETURN_IF_ERROR(Synchronize());
  const OpOutput output = FactsOf<Args>().output(args);
  VT_RETURN_IF_ERROR(Inspect(output.values, output.count, Args::kOp, kernel));
  if (!setup_->on_op) return {};
  OpEvent event{
      layer_, place_, Args::kOp, kernel, {output.values, static_cast<std::size_t>(output.count)}};
  if constexpr (std::is_same_v<Args, RouteArgs>) {
    event.numbers = {args.ids, static_cast<std::size_t>(args.rows * args.used)};
  }
  return setup_->on_op(event);
}

template <class Args>
Status OpRunner::Execute(const Kernel<Args>& kernel, const Args& args) {
  if (kernel.compose) return RunParts(kernel.compose(args));
  if (kernel.launch) return kernel.launch(args, *setup_->stream);
  VT_RETURN_IF_ERROR(Synchronize());
  int parts = setup_->pool->threads();
  if (kernel.max_parts) parts = std::min(parts, kernel.max_parts(args));
  setup_->pool->Run(parts, [&](Part part) { kernel.run(args, part); });
  return {};
}

template <class Args>
Status OpRunner::Run(const Args& args) {
  if (record_) {
    record_->push_back({layer_, place_, args, dry_device_, dry_tokens_});
    return {};
  }
  if (cancel_ && cancel_->load(std::memory_order_relaxed)) return Interrupted();
  Result<const Kernel<Args>*> found =
      Resolve(setup_->registry, setup_->device, args, setup_->resolve);
  if (!found.ok()) return found.status().Annotate(Place());
  const Kernel<Args>& kernel = **found;
  VT_RETURN_IF_ERROR(Execute(kernel, args));
  Launch& launch =
      launches_.try_emplace(&kernel, Launch{Args::kOp, kernel.name, kernel.tier, 0}).first->second;
  ++launch.count;
  if (setup_->check || setup_->on_op) return CheckOutput(args, kernel.name);
  return {};
}

Status OpRunner::RunParts(const std::vector<AnyArgs>& parts) {
  for (const AnyArgs& part : parts) {
    VT_RETURN_IF_ERROR(std::visit([&](const auto& call) { return Run(call); }, part));
  }
  return {};
}

#define VT_COMPILE_RUN(Op) template Status OpRunner::Run(const Op##Args&);
VT_OPS(VT_COMPILE_RUN)
#undef VT_COMPILE_RUN

}  // namespace vt
