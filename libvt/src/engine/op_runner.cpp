#include "engine/op_runner.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace vt {

std::string OpRunner::Place() const {
  return layer_ < 0 ? std::string(place_) : "blk." + std::to_string(layer_) + "." + place_;
}

Status OpRunner::Interrupted() const { return {Code::kInterrupted, "interrupted"}; }

Status OpRunner::ScanForNan(const float* values, std::int64_t count, std::string_view op,
                            std::string_view kernel) const {
  const float* end = values + count;
  const float* nan = std::find_if(values, end, [](float v) { return std::isnan(v); });
  if (nan == end) return {};
  return {Code::kNo, "op " + std::string(op) + " at " + Place() + " (kernel " +
                         std::string(kernel) + "): first NaN of this run, at element " +
                         std::to_string(nan - values) + " of " + std::to_string(count) +
                         "; its inputs had none"};
}

std::vector<KernelLaunches> OpRunner::Launches() const {
  std::vector<KernelLaunches> rows;
  for (const auto& [row, launch] : launches_) {
    rows.push_back(
        {launch.op, device_.id, launch.kernel, std::string(NameOf(launch.tier)), launch.count});
  }
  std::sort(rows.begin(), rows.end(), [](const KernelLaunches& a, const KernelLaunches& b) {
    return std::tie(a.op, a.kernel) < std::tie(b.op, b.kernel);
  });
  return rows;
}

}  // namespace vt
