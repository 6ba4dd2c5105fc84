#include "bench/memory_peaks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/size_text.h"
#include "device/sysfs.h"
#include "place/overhead.h"
#include "plan/memory_plan.h"

namespace vt {
namespace {

// The shadow and the quarantine of a sanitizer are resident too: no prediction is about them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kSanitized = "this build's sanitizer holds memory of its own";
#else
constexpr const char* kSanitized = "";
#endif

// Empty when done, else why not.
std::string WriteWord(const std::string& path, std::string_view word) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return path + ": " + std::strerror(errno);
  const bool written = write(file, word.data(), word.size()) == static_cast<ssize_t>(word.size());
  const std::string reason = written ? "" : path + ": " + std::strerror(errno);
  close(file);
  return reason;
}

}  // namespace

std::string_view NameOf(BenchPhase phase) {
  constexpr std::string_view kNames[] = {"load", "prefill", "decode"};
  return kNames[static_cast<std::size_t>(phase)];
}

void PhasePeak::Add(const std::optional<std::uint64_t>& reading, const std::string& why_none) {
  bytes = reading ? std::optional(std::max(bytes.value_or(0), *reading)) : std::nullopt;
  reason = reading ? "" : why_none;
}

std::uint64_t DevicePeaks::predicted_bytes() const {
  return rows_bytes + simulated_bytes + runtime_bytes.value_or(0) + margin_bytes.value_or(0);
}

std::optional<std::int64_t> DevicePeaks::Residual(BenchPhase phase) const {
  if (!At(phase).bytes) return std::nullopt;
  return SignedDifference(*At(phase).bytes, predicted_bytes());
}

bool DevicePeaks::Over(BenchPhase phase) const {
  return At(phase).bytes && *At(phase).bytes > predicted_bytes() + allowance_bytes;
}

std::vector<DevicePeaks> PredictPeaks(const GgufFile& file, std::span<const MemoryRow> rows,
                                      std::span<const DeviceInfo* const> devices) {
  const auto bytes_of = [&](std::string_view device) {
    std::uint64_t bytes = 0;
    for (const MemoryRow& row : rows) {
      if (row.device == device) bytes += row.predicted_bytes;
    }
    return bytes;
  };
  std::vector<DevicePeaks> peaks(1);
  peaks[0].device = std::string(kHostDevice);
  peaks[0].resident = true;
  peaks[0].allowance_bytes = kResidentAllowance;
  peaks[0].rows_bytes = bytes_of(kHostDevice);
  const Overhead overhead = OverheadOf(file, DeviceInfo());  // of kind cpu
  peaks[0].runtime_bytes = overhead.runtime_bytes;
  peaks[0].margin_bytes = overhead.margin_bytes;
  for (const DeviceInfo* device : devices) {
    if (device->kind == DeviceKind::kCpu) continue;
    DevicePeaks one;
    one.device = device->id;
    one.rows_bytes = bytes_of(device->id);
    if (device->kind == DeviceKind::kSim) peaks[0].simulated_bytes += one.rows_bytes;
    peaks.push_back(std::move(one));
  }
  for (DevicePeaks& device : peaks) {
    for (PhasePeak& phase : device.phases) phase.reason = "not reached";
  }
  return peaks;
}

ResidentMeter::ResidentMeter(std::string root) : root_(std::move(root)), reason_(kSanitized) {}

std::optional<std::uint64_t> ResidentMeter::Lap() {
  if (!reason_.empty()) return std::nullopt;
  const std::string status = root_ + "/proc/self/status";
  const std::optional<std::uint64_t> bytes = ReadKilobytes(status, "", "VmHWM");
  if (!bytes || *bytes == 0) {
    reason_ = status + ": has no VmHWM";
    return std::nullopt;
  }
  reason_ = WriteWord(root_ + "/proc/self/clear_refs", "5");
  if (!reason_.empty()) return std::nullopt;
  return bytes;
}

}  // namespace vt
