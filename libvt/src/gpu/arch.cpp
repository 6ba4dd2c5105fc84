#include "gpu/arch.h"

#include <charconv>
#include <optional>

namespace vt {
namespace {

// "sm_121" with prefix "sm_": 121, of which the last digit is the step.
std::optional<int> Number(std::string_view arch, std::string_view prefix) {
  if (!arch.starts_with(prefix)) return std::nullopt;
  arch.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(arch.data(), arch.data() + arch.size(), number);
  if (error != std::errc() || end != arch.data() + arch.size()) return std::nullopt;
  return number;
}

}  // namespace

bool ArchRuns(std::string_view device_arch, const std::vector<std::string>& archs) {
  const std::optional<int> device = Number(device_arch, "sm_");
  for (const std::string& arch : archs) {
    if (arch == device_arch) return true;
    if (!device) continue;
    const std::optional<int> binary = Number(arch, "sm_");
    if (binary && *binary / 10 == *device / 10 && *binary <= *device) return true;
    const std::optional<int> portable = Number(arch, "compute_");
    if (portable && *portable <= *device) return true;
  }
  return false;
}

}  // namespace vt
