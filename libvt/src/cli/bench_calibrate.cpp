// vt-bench calibrate: the machine as a profile.
#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/utc_time.h"
#include "base/whole_file.h"
#include "bench/host_state.h"
#include "bench/kernel_rates.h"
#include "bench/machine_peaks.h"
#include "bench/op_speed.h"
#include "cli/bench_commands.h"
#include "cli/bench_device.h"
#include "cli/version.h"
#include "device/profile.h"
#include "ops/matmul_policy.h"

namespace vt::cli {
namespace {

constexpr std::size_t kSteps = 20;  // of the progress bar

struct MeasuredRate {
  std::string key;  // of compute_tflops
  double tflops = 0;
  std::string what;  // "fused multiply-adds of vectors"
};

// Products large enough to be bound by arithmetic, with weights of these types.
Status AddMatmulRates(const BenchTarget& target, ThreadPool& pool,
                      std::vector<MeasuredRate>& rates) {
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

std::string ProfileDocument(const std::string& name, const BenchTarget& target,
                            const MachinePeaks& peaks, const std::vector<MeasuredRate>& rates,
                            const KernelRates& kernels, bool quiet) {
  const std::string by = "measured by vt-bench calibrate " + std::string(ToolVersion()) + ", " +
                         UtcToday() + ", " + std::to_string(peaks.threads) + " threads" +
                         (quiet ? ": " : ", machine disturbed: ");
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
  json.EndObject().Key("kernel_rates").BeginObject();
  for (const MeasuredKernel& kernel : kernels.kernels) {
    json.Key(kernel.name).BeginObject();
    WriteFact(json, "gb_per_s", kernel.gb_per_s, by + kernel.bytes_of);
    WriteFact(json, "tflops", kernel.tflops, by + kernel.products_of);
    json.EndObject();
  }
  json.EndObject();
  WriteFact(json, "launch_us", kernels.launch_us, by + kernels.launch_of);
  return json.EndObject().EndArray().EndObject().Take() + "\n";
}

// Only the cpu is measured; a profile of another device must not hold the cpu's figures.
Status CheckDevice(const std::string& id) {
  const auto kind = ParseDeviceKind(id.substr(0, id.find(':')));
  if (!kind.ok() || *kind == DeviceKind::kCpu) return {};
  return UnsupportedError("--device " + ValidUtf8(id) +
                          ": calibrate measures the cpu alone; of this device neither bandwidth "
                          "nor arithmetic is measured; write a profile by hand from its vendor's "
                          "figures (docs/json/vt.profile.md)");
}

}  // namespace

Result<int> BenchCalibrateCommand(std::span<const std::string_view> args, Console& console) {
  BenchOutput output;
  std::string name = "calibrated", device = "cpu";
  std::int64_t threads = 0, buffer_mib = 0;
  std::vector<Flag> table;
  table.push_back(NameFlag(BenchRow("name", "NAME", "of the profile"), &name));
  table.push_back(NameFlag(BenchRow("device", "ID", "cpu: no other is measured"), &device));
  table.push_back(IntegerFlag(BenchRow("threads", "N", "0: one per core"), &threads, 0, 1024));
  table.push_back(BenchBufferFlag(&buffer_mib));
  AddOutputFlags(table, &output, "the profile, instead of stdout");
  for (Flag& flag : table) {
    if (flag.name == "json") flag.doc = {};
  }
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(
          args, table, "usage: vt-bench calibrate [-o PROFILE.json] [flags]\n",
          "Measures the cpu: memory bandwidth, vector arithmetic, products of matrices by\n"
          "type, attention; in under a minute. Writes them as a vt.profile/1 document.\n",
          console));
  if (helped) return 0;
  VT_RETURN_IF_ERROR(CheckDevice(device));
  if (!output.file.empty()) VT_RETURN_IF_ERROR(CheckWritable(output.file));
  VT_ASSIGN_OR_RETURN(const BenchTarget target, FindBenchTarget(device, threads));
  ThreadPool pool(target.threads);
  console.Progress("calibrating", 0, kSteps);
  const HostReading before = ReadHost("");
  VT_ASSIGN_OR_RETURN(
      const MachinePeaks peaks,
      MeasurePeaks(target.device, pool, BufferBytes(buffer_mib), 5, &console.interrupted_flag()));
  std::vector<MeasuredRate> rates = {
      {"f32", peaks.f32_gflops * 1e-3, "fused multiply-adds of the widest vectors"}};
  console.Progress("calibrating", 1, kSteps);
  VT_RETURN_IF_ERROR(AddMatmulRates(target, pool, rates));
  VT_ASSIGN_OR_RETURN(
      const KernelRates kernels,
      MeasureKernelRates(target.device, pool, &console.interrupted_flag(),
                         [&](std::size_t done, std::size_t total) {
                           console.Progress("calibrating", 2 + done * (kSteps - 2) / total, kSteps);
                         }));
  console.ClearProgress();
  if (console.interrupted()) return Status(Code::kInterrupted, "interrupted while calibrating");
  const HostChange host = JudgeHost(before, ReadHost(""), HostProcessors());
  if (!host.quiet) console.Note(host.reason + ": the figures are too low; measure again");
  const std::string document = ProfileDocument(name, target, peaks, rates, kernels, host.quiet);
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
