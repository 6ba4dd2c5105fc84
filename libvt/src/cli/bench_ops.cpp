// vt-bench ops: each kernel against what this machine can do.
#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/near_names.h"
#include "base/size_text.h"
#include "base/text_layout.h"
#include "base/whole_file.h"
#include "bench/bench_record.h"
#include "bench/roofline.h"
#include "cli/bench_commands.h"
#include "cli/bench_device.h"
#include "cli/version.h"
#include "ops/registry.h"

namespace vt::cli {
namespace {

struct Options {
  OpSpeedOptions speed;
  BenchOutput output;
  std::string device = "cpu", svg;
  std::int64_t threads = 0, buffer_mib = 0;
};

std::vector<Flag> Table(Options* o) {
  std::vector<Flag> t;
  t.push_back(ListFlag(BenchRow("op", "NAME", "only this op; may be repeated"), &o->speed.ops));
  t.push_back(
      ListFlag(BenchRow("dtype", "TYPE", "only this type; may be repeated"), &o->speed.types));
  t.push_back(
      BenchCountsFlag(WithDefault("1,64", BenchRow("rows", "N,N,..", "of activations in matmul")),
                      &o->speed.rows, 1, 4096));
  t.push_back(NameFlag(BenchRow("device", "ID", "a device that vt-caps lists"), &o->device));
  t.push_back(IntegerFlag(BenchRow("threads", "N", "0: one per core"), &o->threads, 0, 1024));
  t.push_back(SwitchFlag(BenchRow("best", "", "only the kernels that would be chosen"),
                         &o->speed.best_only));
  t.push_back(BenchBufferFlag(&o->buffer_mib));
  t.push_back(NameFlag(BenchRow("svg", "FILE", "also the roofline plot"), &o->svg));
  AddOutputFlags(t, &o->output, "also the record (JSON)");
  AddTableFlag(t, &o->output);
  return t;
}

Status CheckOptions(const Options& options) {
  for (const std::string& op : options.speed.ops) {
    const auto& known = OpNames();
    if (std::find(known.begin(), known.end(), op) != known.end()) continue;
    return InvalidError("--op \"" + ValidUtf8(op) + "\": not known; the nearest is " +
                        std::string(NearestName(op, known)));
  }
  for (const std::string& type : options.speed.types) {
    if (FindDType(type)) continue;
    return InvalidError("--dtype \"" + ValidUtf8(type) + "\": no such type (as in q4_k, f16)");
  }
  for (const std::string* file : {&options.output.file, &options.svg}) {
    if (!file->empty()) VT_RETURN_IF_ERROR(CheckWritable(*file));
  }
  return {};
}

std::string NumberOr(const std::optional<double>& value, const char* format) {
  if (!value) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

struct Measured {
  std::optional<MachinePeaks> peaks;  // absent: of another device than the cpu
  std::vector<OpSpeed> speeds;
  HostChange host;  // meanwhile
};

std::string OpsTable(const Measured& measured) {
  const auto& peaks = measured.peaks;
  const auto row = [](std::string_view op, std::string_view kernel, std::string_view type,
                      std::string_view rows, std::string_view gb, std::string_view gflops,
                      std::string_view intensity, std::string_view roof) {
    std::string line = Left(op, 15) + " " + Left(kernel, 21) + " " + Left(type, 7) + " ";
    line += Right(rows, 4) + " " + Right(gb, 7) + " " + Right(gflops, 7) + " ";
    return line + Right(intensity, 6) + " " + Right(roof, 6) + "\n";
  };
  std::string out;
  if (peaks) {
    out += Wrapped(std::to_string(peaks->threads) + " threads; memory " +
                   NumberOr(peaks->memory_gb_per_s, "%.1f GB/s") + " (reads of " +
                   SizeText(peaks->memory_bytes) + "), f32 " +
                   NumberOr(peaks->f32_gflops, "%.1f GFLOP/s") + ", bytes " +
                   NumberOr(peaks->int8_gops, "%.1f") + " GOP/s");
  }
  out += row("op", "kernel", "type", "rows", "GB/s", "GFLOP/s", "FLOP/B", "roof");
  for (const OpSpeed& speed : measured.speeds) {
    std::string roof = "-";
    if (peaks) {
      const Roof of = RoofOf(speed, *peaks);
      roof = NumberOr(100 * of.share, "%.0f%% ").append(of.by_memory ? "M" : "A");
    }
    out += row(speed.op, speed.kernel, speed.type, speed.rows ? std::to_string(*speed.rows) : "-",
               NumberOr(speed.gb_per_s(), "%.1f"), NumberOr(speed.gflops(), "%.1f"),
               NumberOr(speed.flops_per_byte(), "%.2f"), roof);
  }
  out += peaks ? "roof: the share reached of what bounds it, M memory (or caches), A arithmetic\n"
               : "roof: not measured on this kind of device\n";
  if (!measured.host.quiet) out += Wrapped("disturbed: " + measured.host.reason);
  return out;
}

void WriteRoof(JsonWriter& json, const OpSpeed& speed, const std::optional<MachinePeaks>& peaks) {
  json.Key("roof");
  if (!peaks) {
    json.Null();
    return;
  }
  const Roof roof = RoofOf(speed, *peaks);
  json.BeginObject().Field("gb_per_s", roof.gb_per_s).Field("gflops", roof.gflops);
  json.Field("bound", roof.by_memory ? "memory" : "arithmetic").Field("share", roof.share);
  json.EndObject();
}

std::string OpsDocument(const Measured& measured, const BenchTarget& target) {
  const auto& peaks = measured.peaks;
  const auto number = [&](double MachinePeaks::*field) {
    return peaks ? std::optional((*peaks).*field) : std::nullopt;
  };
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench-ops/1");
  WriteTool(json);
  json.Field("device", target.device.id).Field("name", target.device.name);
  json.Field("threads", target.threads);
  json.Field("memory_gb_per_s", number(&MachinePeaks::memory_gb_per_s));
  json.Field("memory_buffer_bytes", peaks ? std::optional(peaks->memory_bytes) : std::nullopt);
  json.Field("f32_gflops", number(&MachinePeaks::f32_gflops));
  json.Field("int8_gops", peaks ? peaks->int8_gops : std::nullopt).Key("reads").BeginArray();
  for (const ReadRate& rate : peaks ? peaks->reads : std::vector<ReadRate>()) {
    json.BeginObject().Field("bytes", rate.bytes).Field("gb_per_s", rate.gb_per_s).EndObject();
  }
  json.EndArray().Key("host");
  WriteHostChange(json, measured.host);
  json.Key("kernels").BeginArray();
  for (const OpSpeed& speed : measured.speeds) {
    json.BeginObject().Field("op", speed.op).Field("kernel", speed.kernel);
    json.Field("tier", speed.tier).Field("type", speed.type);
    json.Field("activations", speed.activations).Field("shape", speed.shape);
    json.Field("bytes", speed.bytes).Field("flops", speed.flops);
    json.Field("calls", speed.calls).Field("median_ns", speed.median_ns);
    json.Field("gb_per_s", speed.gb_per_s()).Field("gflops", speed.gflops());
    json.Field("flops_per_byte", speed.flops_per_byte());
    WriteRoof(json, speed, peaks);
    json.EndObject();
  }
  return json.EndArray().EndObject().Take() + "\n";
}

Status WritePlot(const Options& options, const BenchTarget& target, const Measured& measured) {
  const std::string svg = RooflineSvg(target.device.name + ", vt " + std::string(ToolVersion()),
                                      measured.speeds, *measured.peaks);
  if (svg.empty()) {
    return InvalidError("--svg: no operations are counted in these ops; choose matmul, attention");
  }
  return WriteWhole(options.svg, svg);
}

}  // namespace

Result<int> BenchOpsCommand(std::span<const std::string_view> args, Console& console) {
  Options options;
  options.speed.rows = {1, 64};
  const std::vector<Flag> table = Table(&options);
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(args, table, "usage: vt-bench ops [flags]\n",
                      "GB/s counts inputs and outputs once each. The roof is the lower of the\n"
                      "arithmetic peak and of the bandwidth of as many bytes, times FLOP/B; both\n"
                      "are measured first. Docs: docs/howto/bench.md\n",
                      console));
  if (helped) return 0;
  VT_RETURN_IF_ERROR(CheckOptions(options));
  VT_ASSIGN_OR_RETURN(const BenchTarget target, FindBenchTarget(options.device, options.threads));
  const bool host = target.device.kind == DeviceKind::kCpu;
  if (!host && !options.svg.empty()) {
    return UnsupportedError("--svg: no roof of " + target.device.id +
                            " is measured, only that of the cpu; leave it out");
  }
  ThreadPool pool(target.threads);
  options.speed.cancel = &console.interrupted_flag();
  options.speed.progress = [&](std::size_t done, std::size_t total) {
    console.Progress("measuring", done, total);
  };
  const HostReading before = ReadHost("");
  Measured measured;
  if (host) {
    VT_ASSIGN_OR_RETURN(measured.peaks,
                        MeasurePeaks(target.device, pool, BufferBytes(options.buffer_mib), 3,
                                     options.speed.cancel));
  }
  VT_ASSIGN_OR_RETURN(measured.speeds, MeasureOps(target.device, pool, options.speed));
  measured.host = JudgeHost(before, ReadHost(""), HostProcessors());
  console.ClearProgress();
  if (measured.speeds.empty()) {
    return InvalidError("ops: no kernel of this device fits the filters");
  }
  const std::string document = OpsDocument(measured, target);
  if (!options.output.file.empty()) VT_RETURN_IF_ERROR(WriteWhole(options.output.file, document));
  if (!options.svg.empty()) VT_RETURN_IF_ERROR(WritePlot(options, target, measured));
  VT_RETURN_IF_ERROR(console.Write(options.output.json_wanted() ? document : OpsTable(measured)));
  return 0;
}

}  // namespace vt::cli
