#include "cli/bench_compare_record.h"

#include <cstdio>

#include "base/json_writer.h"
#include "base/text_layout.h"
#include "bench/bench_record.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

void TextOrNull(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  if (text.empty()) {
    json.Null();
  } else {
    json.Value(text);
  }
}

void WriteArm(JsonWriter& json, std::string_view key, const RatesDocument& arm,
              std::string_view command, std::string_view file) {
  json.Key(key).BeginObject();
  TextOrNull(json, "command", command);
  TextOrNull(json, "file", file);
  TextOrNull(json, "program", arm.program);
  TextOrNull(json, "model", arm.model);
  TextOrNull(json, "digest", arm.digest);
  TextOrNull(json, "device", arm.device);
  json.Key("kernels").BeginArray();
  for (const std::string& kernel : arm.kernels) json.Value(kernel);
  json.EndArray().Key("voids").BeginArray();
  for (const std::string& code : arm.voids) json.Value(code);
  json.EndArray().EndObject();
}

void WriteNumbers(JsonWriter& json, std::string_view key, const std::vector<double>& values) {
  json.Key(key).BeginArray();
  for (const double value : values) json.Value(value);
  json.EndArray();
}

}  // namespace

std::string CompareDocument(const CompareOptions& options, const Comparison& c) {
  const bool records = !options.files.empty();
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench-compare/1");
  WriteTool(json);
  json.Field("date", c.date).Field("partial", c.partial);
  TextOrNull(json, "partial_reason", c.partial ? c.partial_reason : "");
  WriteArm(json, "a", c.a, options.a, records ? options.files[0] : "");
  WriteArm(json, "b", c.b, options.b, records ? options.files[1] : "");
  json.Field("noise", options.noise()).Field("seed", options.seed);
  json.Field("least_pairs", options.pairs).Field("most_pairs", options.most_pairs);
  json.Field("quiet_wait_s", options.quiet_wait_s);
  json.Key("legs").BeginArray();
  for (const Leg& leg : c.legs) {
    json.BeginObject().Field("arm", std::string(1, leg.arm)).Field("pair", leg.pair);
    json.Field("wall_ns", leg.wall_ns).Field("counts", leg.counts).Key("host");
    WriteHostChange(json, leg.host);
    json.Key("axes").BeginArray();
    for (const AxisRates& axis : leg.rates.axes) {
      json.BeginObject().Field("axis", axis.axis);
      WriteNumbers(json, "tok_per_s", axis.tok_per_s);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().Key("axes").BeginArray();
  for (const AxisComparison& axis : c.axes) {
    json.BeginObject().Field("axis", axis.axis).Field("kind", axis.kind);
    json.Field("a_tok_per_s", Median(axis.a)).Field("b_tok_per_s", Median(axis.b));
    WriteNumbers(json, "ratios", axis.ratios);
    json.Key("ratio").BeginObject().Field("median", axis.ratio.median);
    json.Field("low", axis.ratio.low).Field("high", axis.ratio.high).EndObject();
    json.Field("verdict", NameOf(axis.verdict)).EndObject();
  }
  json.EndArray().Key("arm_check");
  if (c.arm_check) {
    json.BeginObject().Field("passed", c.arm_check->passed);
    json.Field("message", c.arm_check->message).EndObject();
  } else {
    json.Null();
  }
  json.Key("doubts").BeginArray();
  for (const std::string& doubt : c.doubts) json.Value(doubt);
  return json.EndArray().EndObject().Take();
}

std::string CompareTable(const Comparison& c) {
  char line[160];
  std::snprintf(line, sizeof line, "%-16s %10s %10s %7s %17s  %s\n", "axis", "A tok/s", "B tok/s",
                "B/A", "95 % interval", "B is");
  std::string out = line;
  for (const AxisComparison& axis : c.axes) {
    std::snprintf(line, sizeof line, "%-16.16s %10.2f %10.2f %7.3f %8.3f-%8.3f  %s\n",
                  axis.axis.c_str(), Median(axis.a), Median(axis.b), axis.ratio.median,
                  axis.ratio.low, axis.ratio.high, std::string(NameOf(axis.verdict)).c_str());
    out += line;
  }
  if (c.arm_check) {
    out += std::string("arm check ") + (c.arm_check->passed ? "passed: " : "failed: ") +
           c.arm_check->message + "\n";
  }
  for (const std::string& doubt : c.doubts) out += Hanging("doubt:", 7, doubt);
  if (c.partial) out += Hanging("partial:", 9, c.partial_reason);
  return out;
}

}  // namespace vt::cli
