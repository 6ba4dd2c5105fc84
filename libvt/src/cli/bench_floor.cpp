// vt-bench floor: a record against rates that must be reached.
#include <cstdio>
#include <optional>

#include "base/json.h"
#include "base/whole_file.h"
#include "bench/floors.h"
#include "cli/bench_commands.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

std::string Document(const std::vector<FloorAnswer>& answers, const RatesDocument& rates,
                     bool passed, const std::string& reason) {
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench-floor/1");
  WriteTool(json);
  const auto told = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  json.Field("model", told(rates.model)).Field("device", told(rates.device));
  json.Key("floors").BeginArray();
  for (const FloorAnswer& answer : answers) {
    json.BeginObject().Field("axis", answer.floor.axis).Field("state", NameOf(answer.state));
    json.Field("value", answer.floor.value).Field("tolerance", answer.floor.tolerance);
    json.Field("measured", answer.measured).Field("proposed", answer.proposed).EndObject();
  }
  json.EndArray().Field("passed", passed).Key("reason");
  if (reason.empty()) {
    json.Null();
  } else {
    json.Value(reason);
  }
  return json.EndObject().Take() + "\n";
}

std::string PeopleTable(const std::vector<FloorAnswer>& answers, const std::string& reason) {
  char line[160];
  std::snprintf(line, sizeof line, "%-18s %10s %9s %10s %10s  %s\n", "axis", "floor", "tolerance",
                "tok/s", "proposed", "state");
  std::string out = line;
  const auto number = [](const std::optional<double>& value) {
    char text[32] = "-";
    if (value) std::snprintf(text, sizeof text, "%.2f", *value);
    return std::string(text);
  };
  for (const FloorAnswer& answer : answers) {
    std::snprintf(line, sizeof line, "%-18.18s %10.2f %7.1f %% %10s %10s  %s\n",
                  answer.floor.axis.c_str(), answer.floor.value, 100 * answer.floor.tolerance,
                  number(answer.measured).c_str(), number(answer.proposed).c_str(),
                  std::string(NameOf(answer.state)).c_str());
    out += line;
  }
  if (!reason.empty()) out += reason + "\n";
  return out;
}

}  // namespace

Result<int> BenchFloorCommand(std::span<const std::string_view> args, Console& console) {
  std::string floors_file;
  bool allow_void = false;
  BenchOutput output;
  std::vector<std::string> files;
  std::vector<Flag> table;
  table.push_back(
      NameFlag(BenchRow("file", "FILE", "the floors (vt.bench-floors/1)"), &floors_file));
  table.push_back(SwitchFlag(BenchRow("allow-void", "", "a void record counts too"), &allow_void));
  AddOutputFlags(table, &output, "the floors, raised where the record is above");
  AddTableFlag(table, &output);
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(
          args, table, "usage: vt-bench floor --file FLOORS.json RECORD.json [flags]\n",
          "RECORD may be - (stdin). Exit code 1: a floor is missed or not measured, or\n"
          "none is for this machine and model. Docs: docs/howto/bench.md\n",
          console, &files));
  if (helped) return 0;
  if (floors_file.empty()) return InvalidError("--file: not given; name the floors");
  if (files.size() != 1) {
    return InvalidError("floor: takes one record (" + std::to_string(files.size()) +
                        " given); write vt-bench floor --file FLOORS.json RECORD.json");
  }
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(floors_file, console.interrupted_flag()));
  const Result<std::vector<Floor>> floors = ParseFloors(text);
  if (!floors.ok()) return floors.status().Annotate(ValidUtf8(floors_file));
  VT_ASSIGN_OR_RETURN(const std::string record, ReadInput(files[0], console.interrupted_flag()));
  const Result<RatesDocument> rates = ParseRates(record);
  if (!rates.ok()) return rates.status().Annotate(ValidUtf8(files[0]));

  const std::vector<FloorAnswer> answers = CheckFloors(*floors, *rates);
  std::string reason;
  const bool usable = allow_void || (rates->voids.empty() && !rates->partial);
  if (!usable) {
    reason = "the record is void or partial and proves nothing";
    for (const std::string& code : rates->voids) reason += " " + code;
  } else if (!Passed(answers)) {
    reason = "a floor was missed or not measured, or none is for this machine and model";
  }
  const bool passed = reason.empty();
  if (!output.file.empty() && usable) {
    std::vector<Floor> raised;
    for (const FloorAnswer& answer : answers) {
      raised.push_back(answer.floor);
      raised.back().value = answer.proposed.value_or(answer.floor.value);
    }
    VT_RETURN_IF_ERROR(WriteWhole(output.file, FloorsDocument(raised) + "\n"));
  }
  VT_RETURN_IF_ERROR(console.Write(output.json_wanted() ? Document(answers, *rates, passed, reason)
                                                        : PeopleTable(answers, reason)));
  return passed ? 0 : 1;
}

}  // namespace vt::cli
