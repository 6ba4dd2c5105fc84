#include "bench/bench_record.h"

#include "base/json_writer.h"

namespace vt {
namespace {

void TextOrNull(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  if (text.empty()) {
    json.Null();
  } else {
    json.Value(text);
  }
}

template <class T>
void List(JsonWriter& json, std::string_view key, const std::vector<T>& values) {
  json.Key(key).BeginArray();
  for (const T& value : values) json.Value(value);
  json.EndArray();
}

void WriteModel(JsonWriter& json, const BenchModel& model) {
  json.Key("model").BeginObject().Field("file", model.file).Field("digest", model.digest);
  json.Field("architecture", model.architecture);
  TextOrNull(json, "name", model.name);
  json.Field("bytes", model.bytes).Field("parameters", model.parameters);
  List(json, "types", model.types);
  json.EndObject();
}

void WriteSettings(JsonWriter& json, const BenchRecord& record) {
  const BenchSettings& s = record.settings;
  json.Key("settings").BeginObject();
  json.Field("prompt", s.prompt).Field("gen", s.gen);
  List(json, "depths", s.depths);
  List(json, "batches", s.batches);
  json.Field("repetitions", s.repetitions).Field("warmups", s.warmups);
  json.Field("slow_down_percent", s.slow_down_percent);
  json.Field("device", s.engine.device).Field("threads", s.engine.threads);
  json.Field("context", s.engine.context).Field("ubatch", s.engine.ubatch);
  json.Field("kv_type", NameOf(s.engine.kv_type)).Field("exact", s.engine.exact);
  json.Field("prefix_reuse", s.engine.prefix_reuse);
  TextOrNull(json, "isa", s.engine.isa);
  TextOrNull(json, "tier", s.tier);
  json.Key("kernels").BeginObject();
  for (const auto& [op, kernel] : s.engine.forced_kernels) json.Field(op, kernel);
  json.EndObject();
  TextOrNull(json, "plan", s.plan_hash);
  json.Field("quiet_wait_s", s.quiet_wait_s).EndObject();
  json.Key("prompt_source").BeginObject().Field("kind", record.prompt_source);
  json.Key("seed");
  if (s.prompt_file.empty()) {
    json.Value(s.seed);
  } else {
    json.Null();
  }
  TextOrNull(json, "file", s.prompt_file);
  json.EndObject();
}

void WriteReading(JsonWriter& json, std::string_view key, const HostReading& reading) {
  json.Key(key).BeginObject();
  TextOrNull(json, "governor", reading.governor);
  List(json, "clocks_mhz", reading.clocks_mhz);
  json.Key("temperatures").BeginArray();
  for (const Temperature& one : reading.temperatures) {
    json.BeginObject().Field("sensor", one.sensor).Field("celsius", one.celsius).EndObject();
  }
  json.EndArray();
  json.Field("load_average_1m", reading.load_1m).Field("busy_s", reading.busy_s);
  json.Field("own_s", reading.own_s).Field("steal_s", reading.steal_s);
  json.Field("throttled_periods", reading.throttled_periods);
  json.Field("throttled_s", reading.throttled_s).EndObject();
}

void WriteMachine(JsonWriter& json, const BenchRecord& record) {
  json.Key("machine").BeginObject();
  json.Key("device").BeginObject().Field("id", record.device.id);
  json.Field("kind", NameOf(record.device.kind)).Field("name", record.device.name);
  json.Key("features").BeginArray();
  for (const std::string_view feature : FeatureNames(record.device.features)) json.Value(feature);
  json.EndArray().EndObject();
  TextOrNull(json, "kernel_release", record.kernel_release);
  json.Field("processors", record.processors);
  json.Field("memory_total_bytes", record.device.memory_total.bytes);
  WriteReading(json, "before", record.before);
  WriteReading(json, "after", record.after);
  json.Key("change");
  if (record.change) {
    WriteHostChange(json, *record.change);
  } else {
    json.Null();
  }
  json.Key("quiet_gate");
  if (record.gate) {
    json.BeginObject().Field("found", record.gate->found).Field("waited_s", record.gate->waited_s);
    json.Key("last");
    WriteHostChange(json, record.gate->last);
    json.EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
}

void WriteBuild(JsonWriter& json, const BenchRecord& record) {
  json.Key("build").BeginObject().Field("compiler", record.build.compiler);
  json.Field("flags", record.build.flags).Field("build_type", record.build.build_type);
  json.Key("program").BeginArray();
  for (const ProgramFile& file : record.program) {
    json.BeginObject().Field("file", file.path);
    TextOrNull(json, "digest", file.digest);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void WriteTimes(JsonWriter& json, std::string_view key, const std::vector<std::uint64_t>& ns,
                std::initializer_list<std::pair<const char*, double>> quantiles) {
  json.Key(key);
  if (ns.empty()) {
    json.Null();
    return;
  }
  const std::vector<double> values(ns.begin(), ns.end());
  json.BeginObject();
  for (const auto& [name, q] : quantiles) json.Field(name, Quantile(values, q));
  List(json, "samples_ns", ns);
  json.EndObject();
}

void WriteResult(JsonWriter& json, const BenchResult& result) {
  const BenchTest& test = result.test;
  json.BeginObject().Field("axis", AxisOf(test)).Field("kind", NameOf(test.kind));
  json.Field("n_prompt", test.n_prompt).Field("n_gen", test.n_gen);
  json.Field("depth", test.depth).Field("batch", test.batch);
  const std::vector<double> rates = RatesOf(result);
  const Summary summary = Summarise(rates);
  const Trend trend = FallingTrend(rates);
  json.Key("tok_per_s").BeginObject().Field("median", summary.median);
  json.Field("min", summary.min).Field("max", summary.max).Field("spread", summary.spread);
  json.Field("trend_change", trend.change).Field("trend_p", trend.p).EndObject();
  List(json, "warmup_ns", result.warmup_ns);
  List(json, "samples_ns", result.samples_ns);
  WriteTimes(json, "first_token", result.first_token_ns, {{"p50_ns", 0.5}});
  WriteTimes(json, "inter_token", result.step_ns,
             {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}});
  json.Key("joules_per_token");
  const std::int64_t tokens = test.tokens() * static_cast<std::int64_t>(result.samples_ns.size());
  if (result.joules && tokens > 0) {
    json.Value(*result.joules / static_cast<double>(tokens));
  } else {
    json.Null();
  }
  json.EndObject();
}

void WritePeaks(JsonWriter& json, const BenchRecord& record) {
  json.Key("peaks").BeginArray();
  for (const DevicePeaks& device : record.peaks) {
    json.BeginObject().Field("device", device.device);
    json.Field("how", device.resident ? "resident" : "allocator");
    json.Field("rows_bytes", device.rows_bytes).Field("simulated_bytes", device.simulated_bytes);
    json.Field("runtime_bytes", device.runtime_bytes);
    json.Field("margin_bytes", device.margin_bytes);
    json.Field("predicted_bytes", device.predicted_bytes());
    json.Field("allowance_bytes", device.allowance_bytes).Key("phases").BeginArray();
    for (const BenchPhase phase : kBenchPhases) {
      json.BeginObject().Field("phase", NameOf(phase));
      json.Field("peak_bytes", device.At(phase).bytes);
      json.Field("residual_bytes", device.Residual(phase));
      TextOrNull(json, "reason", device.At(phase).reason);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

void WriteLaunches(JsonWriter& json, const BenchRecord& record) {
  json.Key("memory").BeginArray();
  for (const MemoryRow& row : record.memory) {
    json.BeginObject().Field("device", row.device).Field("row", row.row);
    json.Field("predicted_bytes", row.predicted_bytes);
    json.Field("allocated_bytes", row.allocated_bytes).Field("how", row.how).EndObject();
  }
  json.EndArray().Key("launches").BeginArray();
  for (const KernelLaunches& row : record.launches) {
    json.BeginObject().Field("op", row.op).Field("device", row.device);
    json.Field("kernel", row.kernel).Field("tier", row.tier);
    json.Field("launches", row.launches).EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string_view NameOf(BenchKind kind) {
  return kind == BenchKind::kPrefill ? "prefill" : "decode";
}

std::string AxisOf(const BenchTest& test) {
  std::string axis = test.kind == BenchKind::kPrefill ? "pp" + std::to_string(test.n_prompt)
                                                      : "tg" + std::to_string(test.n_gen);
  if (test.batch > 1) axis.append("x").append(std::to_string(test.batch));
  if (test.depth > 0) axis.append("@d").append(std::to_string(test.depth));
  return axis;
}

std::vector<double> RatesOf(const BenchResult& result) {
  std::vector<double> rates;
  for (const std::uint64_t ns : result.samples_ns) {
    rates.push_back(
        ns == 0 ? 0 : static_cast<double>(result.test.tokens()) * 1e9 / static_cast<double>(ns));
  }
  return rates;
}

std::vector<BenchTest> TestsOf(const BenchSettings& settings) {
  std::vector<BenchTest> tests;
  for (const std::int64_t depth : settings.depths) {
    if (settings.prompt > 0) {
      tests.push_back({.kind = BenchKind::kPrefill, .n_prompt = settings.prompt, .depth = depth});
    }
  }
  for (const std::int64_t depth : settings.depths) {
    for (const std::int64_t batch : settings.batches) {
      if (settings.gen <= 0) continue;
      tests.push_back(
          {.kind = BenchKind::kDecode, .n_gen = settings.gen, .depth = depth, .batch = batch});
    }
  }
  return tests;
}

void WriteHostChange(JsonWriter& json, const HostChange& change) {
  json.BeginObject().Field("wall_s", change.wall_s);
  json.Field("other_load_cpus", change.other_load_cpus).Field("steal_share", change.steal_share);
  json.Field("throttled_periods", change.throttled_periods).Field("quiet", change.quiet);
  TextOrNull(json, "reason", change.reason);
  json.EndObject();
}

std::string BenchJson(const BenchRecord& record) {
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench/1").Key("tool").BeginObject();
  json.Field("version", record.tool_version).Field("commit", record.tool_commit).EndObject();
  json.Field("date", record.date).Field("partial", record.partial);
  TextOrNull(json, "partial_reason", record.partial ? record.partial_reason : "");
  WriteModel(json, record.model);
  WriteSettings(json, record);
  json.Key("golden");
  if (record.golden_file.empty()) {
    json.Null();
  } else {
    json.BeginObject().Field("file", record.golden_file);
    TextOrNull(json, "failure", record.golden_failure);
    json.EndObject();
  }
  WriteBuild(json, record);
  WriteMachine(json, record);
  json.Field("load_ns", record.load_ns);
  json.Field("peak_resident_bytes", record.peak_resident_bytes);
  WritePeaks(json, record);
  TextOrNull(json, "energy_reason", record.energy_reason);
  json.Key("results").BeginArray();
  for (const BenchResult& result : record.results) WriteResult(json, result);
  json.EndArray();
  WriteLaunches(json, record);
  json.Field("void", !record.voids.empty()).Key("voids").BeginArray();
  for (const BenchVoid& one : record.voids) {
    json.BeginObject().Field("code", one.code);
    TextOrNull(json, "axis", one.axis);
    json.Field("message", one.message).EndObject();
  }
  json.EndArray();
  return json.EndObject().Take();
}

}  // namespace vt
