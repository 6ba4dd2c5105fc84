// vt-bench ops and vt-bench calibrate: the kernels against the machine, and the machine as a
// profile.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/whole_file.h"
#include "bench/machine_peaks.h"
#include "bench/op_speed.h"
#include "cli/bench_commands.h"
#include "cli/version.h"
#include "device/profile.h"
#include "ops/matmul_policy.h"
#include "ops/registry.h"

namespace vt::cli {
namespace {

struct Target {
  DeviceInfo device;
  int threads = 1;
};

Result<Target> FindTarget(const std::string& id, std::int64_t threads) {
  Target target;
  VT_ASSIGN_OR_RETURN(target.device, FindDevice(ProbeMachine(), id));
  const Result<DeviceInfo> cpu = FindDevice(ProbeMachine(), "cpu");
  target.threads = threads > 0 ? static_cast<int>(threads) : (cpu.ok() ? cpu->cores : 1);
  return target;
}

Flag NamesFlag(Flag row, std::vector<std::string>* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    target->emplace_back(text);
    return Status();
  };
  return row;
}

Flag BufferFlag(std::int64_t* mib) {
  return IntegerFlag(BenchRow("buffer", "MIB", "that memory is read from; 0: 4 x the cache"), mib,
                     0, 1 << 20);
}
std::uint64_t BufferBytes(std::int64_t mib) { return static_cast<std::uint64_t>(mib) << 20; }

Status CheckNames(const OpSpeedOptions& options) {
  for (const std::string& op : options.ops) {
    const auto& known = OpNames();
    if (std::find(known.begin(), known.end(), op) != known.end()) continue;
    return InvalidError("--op \"" + ValidUtf8(op) + "\": not known; the nearest is " +
                        std::string(NearestName(op, known)));
  }
  return {};
}

std::string OpsTable(const std::vector<OpSpeed>& speeds, const MachinePeaks& peaks) {
  char line[200];
  std::snprintf(line, sizeof line,
                "%d threads; memory %.1f GB/s (reads of %.0f MiB), f32 %.1f GFLOP/s\n",
                peaks.threads, peaks.memory_gb_per_s,
                static_cast<double>(peaks.memory_bytes) / (1 << 20), peaks.f32_gflops);
  std::string out = line;
  std::snprintf(line, sizeof line, "%-22s %-24s %-10s %8s %6s %8s\n", "op", "kernel", "type",
                "GB/s", "memory", "GFLOP/s");
  out += line;
  for (const OpSpeed& speed : speeds) {
    char flops[32] = "-";
    if (const auto gflops = speed.gflops()) std::snprintf(flops, sizeof flops, "%.1f", *gflops);
    std::snprintf(line, sizeof line, "%-22.22s %-24.24s %-10.10s %8.2f %4.0f %% %8s\n",
                  speed.op.c_str(), speed.kernel.c_str(), speed.type.c_str(), speed.gb_per_s(),
                  100 * speed.gb_per_s() / peaks.memory_gb_per_s, flops);
    out += line;
  }
  return out;
}

std::string OpsDocument(const std::vector<OpSpeed>& speeds, const MachinePeaks& peaks,
                        const Target& target) {
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench-ops/1");
  WriteTool(json);
  json.Field("device", target.device.id).Field("name", target.device.name);
  json.Field("threads", peaks.threads).Field("memory_gb_per_s", peaks.memory_gb_per_s);
  json.Field("memory_buffer_bytes", peaks.memory_bytes);
  json.Field("f32_gflops", peaks.f32_gflops).Key("kernels").BeginArray();
  for (const OpSpeed& speed : speeds) {
    json.BeginObject().Field("op", speed.op).Field("kernel", speed.kernel);
    json.Field("tier", speed.tier).Field("type", speed.type);
    json.Field("activations", speed.activations).Field("shape", speed.shape);
    json.Field("bytes", speed.bytes).Field("flops", speed.flops);
    json.Field("calls", speed.calls).Field("median_ns", speed.median_ns);
    json.Field("gb_per_s", speed.gb_per_s()).Field("gflops", speed.gflops());
    json.Field("share_of_memory", speed.gb_per_s() / peaks.memory_gb_per_s).EndObject();
  }
  return json.EndArray().EndObject().Take() + "\n";
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

struct MeasuredRate {
  std::string key;  // of compute_tflops
  double tflops = 0;
  std::string what;  // "fused multiply-adds of vectors"
};

// Products large enough to be bound by arithmetic, with weights of these types.
Status AddMatmulRates(const Target& target, ThreadPool& pool, std::vector<MeasuredRate>& rates) {
  constexpr std::int64_t kRows = 1024, kCols = 4096, kBatch = 64;
  for (const auto& [key, type] : {std::pair("f16", DType::kF16),
                                  {"bf16", DType::kBF16},
                                  {"int8", DType::kQ8_0},
                                  {"int4", DType::kQ4_K}}) {
    MatmulArgs args;
    args.w = {.type = type, .rows = kRows, .cols = kCols};
    args.act = MatmulActType(type, kCols, false, target.device.kind);
    args.m = kBatch;
    OpCase one;
    one.call = args;
    one.optional = false;
    const Result<OpSpeed> speed = MeasureCase(target.device, pool, one, 0.3);
    if (speed.status().code() == Code::kUnsupported) continue;
    VT_RETURN_IF_ERROR(speed.status());
    rates.push_back(
        {key, speed->gflops().value_or(0) * 1e-3, "matmul " + speed->shape + ", " + speed->kernel});
  }
  return {};
}

void WriteFact(JsonWriter& json, std::string_view key, double value, const std::string& source) {
  json.Key(key).BeginObject().Field("value", value).Field("source", source).EndObject();
}

std::string ProfileDocument(const std::string& name, const Target& target,
                            const MachinePeaks& peaks, const std::vector<MeasuredRate>& rates) {
  const std::string by = "measured by vt-bench calibrate " + std::string(ToolVersion()) + ", " +
                         Today() + ", " + std::to_string(peaks.threads) + " threads: ";
  const DeviceInfo& device = target.device;
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.profile/1").Field("name", name);
  json.Field("description", device.name + ", as vt-bench calibrate measured it.");
  json.Key("devices").BeginArray().BeginObject().Field("id", "cpu").Field("kind", "cpu");
  json.Field("name", device.name).Field("arch", device.arch).Key("features").BeginArray();
  for (const std::string_view feature : FeatureNames(device.features)) json.Value(feature);
  json.EndArray().Field("cores", device.cores).Key("memory").BeginObject();
  if (device.memory_total.bytes) {
    json.Key("total_bytes").BeginObject().Field("value", *device.memory_total.bytes);
    json.Field("source", device.memory_total.source).EndObject();
  }
  json.EndObject();
  WriteFact(json, "memory_gb_per_s", peaks.memory_gb_per_s,
            by + "reads of " + std::to_string(peaks.memory_bytes >> 20) + " MiB");
  json.Key("compute_tflops").BeginObject();
  for (const MeasuredRate& rate : rates) WriteFact(json, rate.key, rate.tflops, by + rate.what);
  json.EndObject();
  return json.EndObject().EndArray().EndObject().Take() + "\n";
}

}  // namespace

Result<int> BenchOpsCommand(std::span<const std::string_view> args, Console& console) {
  OpSpeedOptions options;
  BenchOutput output;
  std::string device = "cpu";
  std::int64_t threads = 0, buffer_mib = 0;
  std::vector<Flag> table;
  table.push_back(NamesFlag(BenchRow("op", "NAME", "only this op; may be repeated"), &options.ops));
  table.push_back(
      NamesFlag(BenchRow("dtype", "TYPE", "only this type; may be repeated"), &options.types));
  table.push_back(BenchNameFlag(BenchRow("device", "ID", "a device that vt-caps lists"), &device));
  table.push_back(IntegerFlag(BenchRow("threads", "N", "0: one per core"), &threads, 0, 1024));
  table.push_back(SwitchFlag(BenchRow("best", "", "only the kernels that would be chosen"),
                             &options.best_only));
  table.push_back(BufferFlag(&buffer_mib));
  AddOutputFlags(table, &output, "also the record (JSON)");
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(
          args, table, "usage: vt-bench ops [flags]\n",
          "GB/s counts inputs and outputs once each; memory is their share of what reads\n"
          "of a large buffer reach, and above 100 % what caches hold.\n",
          console));
  if (helped) return 0;
  VT_RETURN_IF_ERROR(CheckNames(options));
  VT_ASSIGN_OR_RETURN(const Target target, FindTarget(device, threads));
  ThreadPool pool(target.threads);
  options.cancel = &console.interrupted_flag();
  options.progress = [&](std::size_t done, std::size_t total) {
    console.Progress("measuring", done, total);
  };
  VT_ASSIGN_OR_RETURN(const DeviceInfo cpu, FindDevice(ProbeMachine(), "cpu"));
  VT_ASSIGN_OR_RETURN(const MachinePeaks peaks,
                      MeasurePeaks(cpu, pool, BufferBytes(buffer_mib), 3, options.cancel));
  VT_ASSIGN_OR_RETURN(const std::vector<OpSpeed> speeds, MeasureOps(target.device, pool, options));
  console.ClearProgress();
  if (speeds.empty()) return InvalidError("ops: no kernel of this device fits the filters");
  const std::string document = OpsDocument(speeds, peaks, target);
  if (!output.file.empty()) VT_RETURN_IF_ERROR(WriteWhole(output.file, document));
  VT_RETURN_IF_ERROR(console.Write(output.json_wanted() ? document : OpsTable(speeds, peaks)));
  return 0;
}

Result<int> BenchCalibrateCommand(std::span<const std::string_view> args, Console& console) {
  BenchOutput output;
  std::string name = "calibrated";
  std::int64_t threads = 0, buffer_mib = 0;
  std::vector<Flag> table;
  table.push_back(BenchNameFlag(BenchRow("name", "NAME", "of the profile"), &name));
  table.push_back(IntegerFlag(BenchRow("threads", "N", "0: one per core"), &threads, 0, 1024));
  table.push_back(BufferFlag(&buffer_mib));
  AddOutputFlags(table, &output, "the profile, instead of stdout");
  for (Flag& flag : table) {
    if (flag.name == "json") flag.doc = {};
  }
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(
          args, table, "usage: vt-bench calibrate [-o PROFILE.json] [flags]\n",
          "Measures the cpu: memory bandwidth, vector arithmetic, products of matrices by\n"
          "type. Writes a vt.profile/1 document with measured facts.\n",
          console));
  if (helped) return 0;
  VT_ASSIGN_OR_RETURN(const Target target, FindTarget("cpu", threads));
  ThreadPool pool(target.threads);
  console.Progress("calibrating", 0, 2);
  VT_ASSIGN_OR_RETURN(
      const MachinePeaks peaks,
      MeasurePeaks(target.device, pool, BufferBytes(buffer_mib), 5, &console.interrupted_flag()));
  std::vector<MeasuredRate> rates = {
      {"f32", peaks.f32_gflops * 1e-3, "fused multiply-adds of the widest vectors"}};
  console.Progress("calibrating", 1, 2);
  VT_RETURN_IF_ERROR(AddMatmulRates(target, pool, rates));
  console.ClearProgress();
  const std::string document = ProfileDocument(name, target, peaks, rates);
  if (const auto profile = ParseProfile(document); !profile.ok()) {
    return InternalError("calibrate: wrote a profile that cannot be read: " +
                         profile.status().message() + " " + profile.status().at());
  }
  if (output.file.empty()) {
    VT_RETURN_IF_ERROR(console.Write(document));
  } else {
    VT_RETURN_IF_ERROR(WriteWhole(output.file, document));
  }
  return 0;
}

}  // namespace vt::cli
