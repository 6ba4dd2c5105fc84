// vt-bench compare: two commands by turns, or two records.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

#include "base/json.h"
#include "base/whole_file.h"
#include "bench/compare.h"
#include "bench/shell_command.h"
#include "cli/bench_commands.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

struct Options {
  std::string a, b;
  std::int64_t pairs = 6, seed = 1;
  float noise_percent = 1.0f;
  bool different_kernels = false, strict = false;
  BenchOutput output;
  std::vector<std::string> files;
};

struct Comparison {
  std::string date;
  bool partial = true;
  std::string partial_reason = "still running";
  RatesDocument a, b;
  std::vector<Leg> legs;
  std::vector<AxisComparison> axes;
  std::optional<ArmCheck> arm_check;
  std::vector<std::string> doubts;
};

std::vector<Flag> Table(Options* o) {
  std::vector<Flag> t;
  t.push_back(BenchNameFlag(BenchRow("a", "CMD", "a shell command that prints a result"), &o->a));
  t.push_back(BenchNameFlag(BenchRow("b", "CMD", "the one to compare with it"), &o->b));
  t.push_back(
      IntegerFlag(BenchRow("pairs", "N", "of runs, in the order AB BA AB .."), &o->pairs, 1, 1000));
  Flag noise = BenchRow("noise", "P", "percent of difference that never counts");
  noise.default_text = "1";
  t.push_back(RealFlag(std::move(noise), &o->noise_percent));
  t.push_back(IntegerFlag(BenchRow("seed", "N", "of the bootstrap's draws"), &o->seed, 0));
  t.push_back(SwitchFlag(
      BenchRow("expect-different-kernels", "", "exit 1 unless the arms launch different ones"),
      &o->different_kernels));
  t.push_back(SwitchFlag(BenchRow("strict", "", "exit 1 when B is slower, or a record is void"),
                         &o->strict));
  AddOutputFlags(t, &o->output, "also the record (JSON), kept as it grows");
  return t;
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

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

std::string Document(const Options& options, const Comparison& c) {
  const bool records = !options.files.empty();
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench-compare/1");
  WriteTool(json);
  json.Field("date", c.date).Field("partial", c.partial);
  TextOrNull(json, "partial_reason", c.partial ? c.partial_reason : "");
  WriteArm(json, "a", c.a, options.a, records ? options.files[0] : "");
  WriteArm(json, "b", c.b, options.b, records ? options.files[1] : "");
  json.Field("noise", options.noise_percent / 100.0).Field("seed", options.seed);
  json.Key("legs").BeginArray();
  for (const Leg& leg : c.legs) {
    json.BeginObject().Field("arm", std::string(1, leg.arm)).Field("pair", leg.pair);
    json.Field("wall_ns", leg.wall_ns).Key("axes").BeginArray();
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

std::string PeopleTable(const Comparison& c) {
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
  for (const std::string& doubt : c.doubts) out += "doubt: " + doubt + "\n";
  if (c.partial) out += "partial: " + c.partial_reason + "\n";
  return out;
}

void Judge(const Options& options, Comparison& c) {
  const double noise = options.noise_percent / 100.0;
  const std::uint64_t seed = static_cast<std::uint64_t>(options.seed);
  c.axes = options.files.empty() ? CompareLegs(c.legs, noise, seed)
                                 : CompareRecords(c.a, c.b, noise, seed);
  if (c.a.axes.empty() || c.b.axes.empty()) return;
  c.doubts = Doubts(c.a, c.b);
  if (options.different_kernels) c.arm_check = CheckArms(c.a, c.b);
}

Status CheckOptions(const Options& options) {
  if (!(options.noise_percent >= 0 && options.noise_percent < 100)) {
    return InvalidError("--noise: a percentage of 0 to 100");
  }
  if (options.files.empty()) {
    if (!options.a.empty() && !options.b.empty()) return {};
    return InvalidError("compare: needs two arms; write --a 'CMD' --b 'CMD', or A.json B.json");
  }
  if (!options.a.empty() || !options.b.empty()) {
    return InvalidError("compare: takes two commands or two records, not both");
  }
  if (options.files.size() != 2) {
    return InvalidError("compare: takes two records (" + std::to_string(options.files.size()) +
                        " given); write vt-bench compare A.json B.json");
  }
  return {};
}

void RememberVoids(const RatesDocument& leg, RatesDocument& arm) {
  std::vector<std::string> voids = arm.voids;
  if (arm.axes.empty()) arm = leg;
  for (const std::string& code : leg.voids) {
    if (std::find(voids.begin(), voids.end(), code) == voids.end()) voids.push_back(code);
  }
  std::sort(voids.begin(), voids.end());
  arm.voids = std::move(voids);
}

Status RunLegs(const Options& options, Console& console, Comparison& c) {
  const int turns = static_cast<int>(2 * options.pairs);
  for (int turn = 0; turn < turns; ++turn) {
    console.Progress("comparing", static_cast<std::uint64_t>(turn),
                     static_cast<std::uint64_t>(turns));
    Leg leg{.arm = ArmOfTurn(turn), .pair = turn / 2, .wall_ns = 0, .rates = {}};
    const std::string& command = leg.arm == 'a' ? options.a : options.b;
    VT_ASSIGN_OR_RETURN(const CommandOutput output,
                        RunShellCommand(command, console.interrupted_flag()));
    Result<RatesDocument> rates = ParseRates(output.out);
    if (!rates.ok()) return rates.status().Annotate("command \"" + ValidUtf8(command) + "\"");
    leg.wall_ns = output.wall_ns;
    leg.rates = std::move(*rates);
    RememberVoids(leg.rates, leg.arm == 'a' ? c.a : c.b);
    c.legs.push_back(std::move(leg));
    Judge(options, c);
    if (!options.output.file.empty()) {
      VT_RETURN_IF_ERROR(WriteWhole(options.output.file, Document(options, c) + "\n"));
    }
    if (turn == 1 && c.axes.empty()) {
      return InvalidError(
          "compare: the two commands have no axis in common (A: " + c.a.axes.front().axis +
          ", B: " + c.b.axes.front().axis + "); let both measure the same -p and -n");
    }
  }
  return {};
}

Result<RatesDocument> ReadRecord(const std::string& path, Console& console) {
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, console.interrupted_flag()));
  Result<RatesDocument> rates = ParseRates(text);
  if (!rates.ok()) return rates.status().Annotate(ValidUtf8(path));
  return rates;
}

Status Measure(const Options& options, Console& console, Comparison& c) {
  if (options.files.empty()) return RunLegs(options, console, c);
  VT_ASSIGN_OR_RETURN(c.a, ReadRecord(options.files[0], console));
  VT_ASSIGN_OR_RETURN(c.b, ReadRecord(options.files[1], console));
  Judge(options, c);
  if (c.axes.empty()) return InvalidError("compare: the two records have no axis in common");
  return {};
}

int ExitOf(const Options& options, const Comparison& c) {
  if (c.arm_check && !c.arm_check->passed) return 1;
  if (!options.strict) return 0;
  for (const AxisComparison& axis : c.axes) {
    if (axis.verdict == SpeedVerdict::kSlower) return 1;
  }
  return c.a.voids.empty() && c.b.voids.empty() ? 0 : 1;
}

}  // namespace

Result<int> BenchCompareCommand(std::span<const std::string_view> args, Console& console) {
  Options options;
  const std::vector<Flag> table = Table(&options);
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(args, table,
                      "usage: vt-bench compare --a 'CMD' --b 'CMD' [flags]\n"
                      "       vt-bench compare A.json B.json [flags]\n",
                      "Commands print vt-bench run --json, or llama-bench -o json or jsonl.\n"
                      "Docs: docs/howto/bench.md\n",
                      console, &options.files));
  if (helped) return 0;
  VT_RETURN_IF_ERROR(CheckOptions(options));
  if (!options.output.file.empty()) VT_RETURN_IF_ERROR(CheckWritable(options.output.file));
  Comparison comparison;
  comparison.date = UtcNow();
  const Status status = Measure(options, console, comparison);
  console.ClearProgress();
  comparison.partial = !status.ok();
  comparison.partial_reason = status.message();
  if (!status.ok() && comparison.legs.empty()) return status;
  const std::string document = Document(options, comparison) + "\n";
  if (!options.output.file.empty()) {
    VT_RETURN_IF_ERROR(WriteWhole(options.output.file, document));
  }
  VT_RETURN_IF_ERROR(
      console.Write(options.output.json_wanted() ? document : PeopleTable(comparison)));
  if (!status.ok()) {
    console.Print("vt-bench: error: " + status.message() + "; the record is partial\n");
    return ExitCode(status.code());
  }
  return ExitOf(options, comparison);
}

}  // namespace vt::cli
