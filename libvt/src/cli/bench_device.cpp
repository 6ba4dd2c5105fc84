#include "cli/bench_device.h"

#include "base/json_writer.h"
#include "cli/bench_commands.h"

namespace vt::cli {

Status CheckBenchDevice(std::string_view id) {
  if (id.substr(0, id.find(':')) != NameOf(DeviceKind::kSim)) return {};
  return UnsupportedError("--device " + ValidUtf8(id) +
                          ": kernels of a simulated device run in an emulator on the host, whose "
                          "times say nothing of a GPU; measure a device that vt-caps lists");
}

Result<BenchTarget> FindBenchTarget(const std::string& id, std::int64_t threads) {
  VT_RETURN_IF_ERROR(CheckBenchDevice(id));
  const Machine machine = ProbeMachine();
  BenchTarget target;
  VT_ASSIGN_OR_RETURN(target.device, FindDevice(machine, id));
  VT_ASSIGN_OR_RETURN(const DeviceInfo cpu, FindDevice(machine, "cpu"));
  target.threads = threads > 0 ? static_cast<int>(threads) : cpu.cores;
  return target;
}

Flag BenchBufferFlag(std::int64_t* mib) {
  return IntegerFlag(BenchRow("buffer", "MIB", "that memory is read from; 0: 4 x the cache"), mib,
                     0, 1 << 20);
}

}  // namespace vt::cli
