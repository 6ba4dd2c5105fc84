// What a run held at most in each of its phases, beside what was predicted of it.
//
// The measure of the host is the resident memory of this process; of any other device it is what
// its own allocator handed out, since resident memory says nothing of a GPU.
// Sources: Linux man proc_pid_status(5) (VmHWM), proc_pid_clear_refs(5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vt/engine.h"
#include "vt/gguf.h"

namespace vt {

// Prefill: prompts that are timed, and all that stands before a depth or a decoded token.
enum class BenchPhase { kLoad, kPrefill, kDecode };
inline constexpr BenchPhase kBenchPhases[] = {BenchPhase::kLoad, BenchPhase::kPrefill,
                                              BenchPhase::kDecode};
std::string_view NameOf(BenchPhase phase);  // "load", "prefill", "decode"

// By so much a process may be above its prediction: stacks, the allocator's spare pages, what the
// system counts late. An allocator counts to the byte and may be above by nothing.
inline constexpr std::uint64_t kResidentAllowance = std::uint64_t{64} << 20;

struct PhasePeak {
  std::optional<std::uint64_t> bytes;
  std::string reason;  // why there are none
  // With one more reading of the phase; when there is none, for `why_none`, the most is unknown.
  void Add(const std::optional<std::uint64_t>& reading, const std::string& why_none);
};

struct DevicePeaks {
  std::string device;
  bool resident = false;              // the host: measured as resident memory
  std::uint64_t rows_bytes = 0;       // of the memory plan; mapped weights are as they are planned
  std::uint64_t simulated_bytes = 0;  // of the host: rows of simulated devices, which are its pages
  // Of the host, as vt-fit has them; what an allocator hands out includes neither.
  std::optional<std::uint64_t> runtime_bytes;
  std::optional<std::uint64_t> margin_bytes;
  std::uint64_t allowance_bytes = 0;
  std::array<PhasePeak, std::size(kBenchPhases)> phases = {};

  std::uint64_t predicted_bytes() const;
  PhasePeak& At(BenchPhase phase) { return phases[static_cast<std::size_t>(phase)]; }
  const PhasePeak& At(BenchPhase phase) const { return phases[static_cast<std::size_t>(phase)]; }
  // Measured less predicted; negative: less was held.
  std::optional<std::int64_t> Residual(BenchPhase phase) const;
  // Above the prediction and what is allowed over it.
  bool Over(BenchPhase phase) const;
};

// The predictions, the host first, then `devices` in order: of the rows that an engine allocated,
// and the host's runtime and margin for a run of this model. The phases are "not reached".
std::vector<DevicePeaks> PredictPeaks(const GgufFile& file, std::span<const MemoryRow> rows,
                                      std::span<const DeviceInfo* const> devices);

// The kernel's high-water mark of this process's resident memory.
class ResidentMeter {
 public:
  // `root` is put before every path ("" is the machine itself).
  explicit ResidentMeter(std::string root);
  // Why there is none; empty when there is.
  const std::string& reason() const { return reason_; }
  // The most since the previous call, or since the program began; the mark begins anew. Absent:
  // not readable, or it could not be made to begin anew, and so from then on.
  std::optional<std::uint64_t> Lap();

 private:
  std::string root_;
  std::string reason_;
};

}  // namespace vt
