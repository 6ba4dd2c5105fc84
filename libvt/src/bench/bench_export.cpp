#include "bench/bench_export.h"

#include <cmath>
#include <cstdio>

#include "base/json_writer.h"
#include "base/text_layout.h"

namespace vt {
namespace {

template <class... Values>
std::string Format(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string NumberOr(const std::optional<double>& value, const char* format, const char* none) {
  return value ? Format(format, *value) : none;
}

std::optional<double> JoulesPerToken(const BenchResult& result) {
  const auto tokens =
      static_cast<double>(result.test.tokens()) * static_cast<double>(result.samples_ns.size());
  if (!result.joules || tokens <= 0) return std::nullopt;
  return *result.joules / tokens;
}

std::optional<double> QuantileMs(const std::vector<std::uint64_t>& ns, double q) {
  if (ns.empty()) return std::nullopt;
  return Quantile(std::vector<double>(ns.begin(), ns.end()), q) * 1e-6;
}

std::string ModelLabel(const BenchRecord& record) {
  return record.model.name.empty() ? record.model.architecture : record.model.name;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double Deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// "cpu, MiB: 240 predicted; load 143 (-97), prefill 160 (-80), decode unknown": with the residuals.
std::string PeaksText(const DevicePeaks& device) {
  constexpr double kMiB = 1 << 20;
  const double predicted = static_cast<double>(device.predicted_bytes()) / kMiB;
  const char* format = predicted < 100 ? "%s %.1f (%+.1f)" : "%s %.0f (%+.0f)";
  std::string text = device.device +
                     ", MiB: " + Format(predicted < 100 ? "%.1f" : "%.0f", predicted) +
                     " predicted; ";
  for (const BenchPhase phase : kBenchPhases) {
    const std::string name(NameOf(phase));
    const auto& bytes = device.At(phase).bytes;
    text += phase == BenchPhase::kLoad ? "" : ", ";
    text += bytes ? Format(format, name.c_str(), static_cast<double>(*bytes) / kMiB,
                           static_cast<double>(*device.Residual(phase)) / kMiB)
                  : name + " unknown";
  }
  return text;
}

}  // namespace

std::string BenchRates(const BenchRecord& record) {
  std::string out =
      Wrapped(ModelLabel(record) + " (" + BaseName(record.model.file) + "), " +
              Format("%d threads of ", record.settings.engine.threads) + record.device.name);
  out += Format("%-18s %10s %8s %10s %10s %9s %9s\n", "axis", "tok/s", "spread", "min", "max",
                "p50 ms", "p99 ms");
  for (const BenchResult& result : record.results) {
    const Summary s = Summarise(RatesOf(result));
    const bool decode = result.test.kind == BenchKind::kDecode;
    const auto& times = decode ? result.step_ns : result.first_token_ns;
    out += Format("%-18.18s %10.2f %8s %10.2f %10.2f %9s %9s\n", AxisOf(result.test).c_str(),
                  s.median, s.spread ? Format("%.1f %%", 100 * *s.spread).c_str() : "-", s.min,
                  s.max, NumberOr(QuantileMs(times, 0.5), "%.2f", "-").c_str(),
                  NumberOr(decode ? QuantileMs(times, 0.99) : std::nullopt, "%.2f", "-").c_str());
  }
  out +=
      Wrapped(Format("load %.1f ms, peak memory %.1f MiB; ms: between tokens, of a prompt to "
                     "the first",
                     static_cast<double>(record.load_ns) * 1e-6,
                     static_cast<double>(record.peak_resident_bytes) / (1 << 20)));
  for (const DevicePeaks& device : record.peaks) out += Wrapped(PeaksText(device));
  for (const BenchResult& result : record.results) {
    if (const auto joules = JoulesPerToken(result)) {
      out += Format("%s: %.3f joules a token\n", AxisOf(result.test).c_str(), *joules);
    }
  }
  return out;
}

std::string BenchTable(const BenchRecord& record) {
  std::string out = BenchRates(record);
  for (const BenchVoid& one : record.voids) {
    out += Wrapped("void: " + one.code + (one.axis.empty() ? "" : " (" + one.axis + ")") + ": " +
                   one.message);
  }
  if (record.partial) out += Wrapped("partial: " + record.partial_reason);
  return out;
}

std::string BenchMarkdown(const BenchRecord& record) {
  std::string out =
      "| model | axis | tok/s | spread | min | max | J/token |\n"
      "|---|---|---:|---:|---:|---:|---:|\n";
  for (const BenchResult& result : record.results) {
    const Summary s = Summarise(RatesOf(result));
    std::string label = ModelLabel(record);
    for (std::size_t at = 0; (at = label.find('|', at)) != std::string::npos; at += 2) {
      label.insert(at, "\\");
    }
    out += "| " + label + " | " + AxisOf(result.test) + Format(" | %.2f | ", s.median) +
           (s.spread ? Format("%.1f %%", 100 * *s.spread) : "-") +
           Format(" | %.2f | %.2f | ", s.min, s.max) +
           NumberOr(JoulesPerToken(result), "%.3f", "-") + " |\n";
  }
  for (const DevicePeaks& device : record.peaks) out += "\n" + PeaksText(device) + "\n";
  for (const BenchVoid& one : record.voids) {
    out += "\n**void**: `" + one.code + "`" + (one.axis.empty() ? "" : " (" + one.axis + ")") +
           ": " + one.message + "\n";
  }
  if (record.partial) out += "\n**partial**: " + record.partial_reason + "\n";
  return out;
}

std::string BenchCsv(const BenchRecord& record) {
  const auto quoted = [](const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out.append(c == '"' ? 2 : 1, c);
    return out + "\"";
  };
  std::string codes;
  for (const BenchVoid& one : record.voids) codes += (codes.empty() ? "" : " ") + one.code;
  std::string out =
      "model,digest,axis,kind,n_prompt,n_gen,depth,batch,samples,median_tok_per_s,min_tok_per_s,"
      "max_tok_per_s,spread,p50_ms,p90_ms,p99_ms,joules_per_token,partial,voids\r\n";
  for (const BenchResult& result : record.results) {
    const BenchTest& t = result.test;
    const Summary s = Summarise(RatesOf(result));
    const auto& times = t.kind == BenchKind::kDecode ? result.step_ns : result.first_token_ns;
    out += quoted(record.model.file) + "," + record.model.digest + "," + AxisOf(t) + "," +
           std::string(NameOf(t.kind));
    for (const std::int64_t n : {t.n_prompt, t.n_gen, t.depth, t.batch, s.count}) {
      out += "," + std::to_string(n);
    }
    out += Format(",%.6g,%.6g,%.6g,", s.median, s.min, s.max) + NumberOr(s.spread, "%.6g", "");
    for (const double q : {0.5, 0.9, 0.99}) out += "," + NumberOr(QuantileMs(times, q), "%.6g", "");
    out += "," + NumberOr(JoulesPerToken(result), "%.6g", "") + (record.partial ? ",1," : ",0,") +
           quoted(codes) + "\r\n";
  }
  return out;
}

std::string LlamaBenchJson(const BenchRecord& record) {
  const EngineOptions& engine = record.settings.engine;
  JsonWriter json;
  json.BeginArray();
  for (const BenchResult& result : record.results) {
    const BenchTest& t = result.test;
    const std::vector<double> rates = RatesOf(result);
    const std::vector<double> ns(result.samples_ns.begin(), result.samples_ns.end());
    json.BeginObject().Field("build_commit", record.tool_commit).Field("build_number", 0);
    json.Field("cpu_info", record.device.name).Field("gpu_info", "");
    json.Field("backends", record.device.id == "cpu" ? "CPU" : record.device.id);
    json.Field("model_filename", record.model.file);
    json.Field("model_type", ModelLabel(record) + " " +
                                 (record.model.types.empty() ? "" : record.model.types.front()));
    json.Field("model_size", record.model.bytes).Field("model_n_params", record.model.parameters);
    json.Field("n_batch", engine.ubatch).Field("n_ubatch", engine.ubatch);
    json.Field("n_threads", engine.threads);
    json.Field("type_k", NameOf(engine.kv_type)).Field("type_v", NameOf(engine.kv_type));
    json.Field("n_gpu_layers", 0).Field("n_prompt", t.n_prompt);
    json.Field("n_gen", t.n_gen * t.batch).Field("n_depth", t.depth);
    json.Field("test_time", record.date);
    json.Field("avg_ns", static_cast<std::uint64_t>(Mean(ns)));
    json.Field("stddev_ns", static_cast<std::uint64_t>(Deviation(ns)));
    json.Field("avg_ts", Mean(rates)).Field("stddev_ts", Deviation(rates));
    json.Key("samples_ns").BeginArray();
    for (const std::uint64_t one : result.samples_ns) json.Value(one);
    json.EndArray().Key("samples_ts").BeginArray();
    for (const double one : rates) json.Value(one);
    json.EndArray().EndObject();
  }
  return json.EndArray().Take();
}

}  // namespace vt
