#include "engine/op_runner.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace vt {

std::string OpRunner::Place() const { return PlaceOf({layer_, place_, {}}); }

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
  if (!setup_->on_op) return {};
  return setup_->on_op({layer_, place_, op, kernel, {values, static_cast<std::size_t>(count)}});
}

Status OpRunner::Synchronize() {
  return setup_ && setup_->stream ? setup_->stream->Synchronize() : Status();
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

}  // namespace vt
