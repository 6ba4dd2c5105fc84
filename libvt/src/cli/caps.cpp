#include "cli/caps.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/near_names.h"
#include "caps/caps_diff.h"
#include "caps/caps_document.h"
#include "caps/verify.h"
#include "cli/caps_markdown.h"
#include "cli/caps_model.h"
#include "cli/caps_options.h"
#include "cli/caps_table.h"
#include "cli/console.h"
#include "cli/machine_source.h"
#include "cli/tool.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

std::string Quoted(std::string_view text) { return "\"" + ValidUtf8(text) + "\""; }

Status CheckNames(std::string_view flag, const std::vector<std::string>& given,
                  const std::vector<std::string_view>& known) {
  for (const std::string& name : given) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string all;
    for (const std::string_view each : known) all.append(all.empty() ? "" : ", ").append(each);
    return InvalidError("--" + std::string(flag) + " " + Quoted(name) +
                        ": not known; the nearest is " + std::string(NearestName(name, known)) +
                        " (known: " + all + ")");
  }
  return {};
}

Status CheckFilters(const CapsOptions& options) {
  VT_RETURN_IF_ERROR(CheckNames("op", options.ops, OpNames()));
  std::vector<std::string_view> types;
  for (const DTypeInfo& info : AllDTypes()) types.push_back(info.name);
  return CheckNames("dtype", options.dtypes, types);
}

// A kind without a device is fine in a report, which then says why.
Status CheckDevices(const CapsOptions& options, const Machine& machine) {
  for (const std::string& wanted : options.devices) {
    if (options.mode == kCapsReport && ParseDeviceKind(wanted).ok()) continue;
    const bool found =
        std::any_of(machine.devices.begin(), machine.devices.end(), [&](const DeviceInfo& device) {
          return device.id == wanted || NameOf(device.kind) == wanted;
        });
    if (!found) return FindDevice(machine, wanted).status().Annotate("--device");
  }
  return {};
}

MachineSource SourceOf(const CapsOptions& options) {
  return {options.caps_file, options.profile_file, options.sim_files, options.isa,
          options.mode == kCapsVerify};
}

Status WriteReport(const CapsReport& report, const CapsOptions& options, Console& console) {
  if (!JsonWanted(options)) {
    return console.Write(options.mode == kCapsVerify ? VerifyTable(report) : ReportTable(report));
  }
  JsonWriter json;
  json.BeginObject().Field("schema", kCapsSchema);
  WriteTool(json);
  WriteCapsBody(report, json);
  return console.WriteLine(json.EndObject().Take());
}

Result<int> RunReport(const CapsOptions& options, LoadedMachine loaded, Console& console) {
  CapsReport report = MakeCapsReport(BuiltinKernels(), loaded.machine,
                                     {options.ops, options.dtypes, options.devices});
  report.undriven = std::move(loaded.undriven);
  if (options.mode == kCapsReport) {
    VT_RETURN_IF_ERROR(WriteReport(report, options, console));
    return 0;
  }
  const bool any = std::any_of(report.rows.begin(), report.rows.end(),
                               [](const CapsRow& row) { return !row.devices.empty(); });
  if (!any) {
    return Status(Code::kNotFound,
                  "--verify: no usable kernel passes the filters; vt-caps with the same filters "
                  "says why");
  }
  VerifyOptions verify{options.timeout_s, &console.interrupted_flag(),
                       [&](std::size_t done, std::size_t total, const std::string&) {
                         console.Progress("verify", done, total);
                       }};
  VT_RETURN_IF_ERROR(Verify(BuiltinKernels(), verify, report));
  VT_RETURN_IF_ERROR(WriteReport(report, options, console));
  return AllOk(report) ? 0 : 1;
}

Result<int> RunDiff(const CapsOptions& options, Console& console) {
  const std::atomic<bool>& interrupted = console.interrupted_flag();
  VT_ASSIGN_OR_RETURN(const CapsReport a, ReadCapsFile(options.diff_a, interrupted));
  VT_ASSIGN_OR_RETURN(const CapsReport b, ReadCapsFile(options.diff_b, interrupted));
  VT_ASSIGN_OR_RETURN(const CapsDiff diff, DiffCaps(a, b));
  if (JsonWanted(options)) {
    JsonWriter json;
    json.BeginObject().Field("schema", kCapsDiffSchema);
    WriteTool(json);
    json.Field("a", options.diff_a).Field("b", options.diff_b);
    WriteDiffBody(diff, json);
    VT_RETURN_IF_ERROR(console.WriteLine(json.EndObject().Take()));
  } else {
    VT_RETURN_IF_ERROR(console.Write(DiffTable(diff, options.diff_a, options.diff_b)));
  }
  return diff.same() ? 0 : 1;
}

Result<int> Run(const CapsOptions& options, std::span<const Flag> table, Console& console) {
  switch (options.mode) {
    case kCapsHelp:
      return WriteAnswer(console, CapsHelp(table));
    case kCapsVersion:
      return WriteAnswer(console, VersionText("vt-caps"));
    case kCapsMarkdown:
      return WriteAnswer(console, OpsMarkdown(BuiltinKernels()));
    case kCapsDiff:
      return RunDiff(options, console);
    case kCapsReport:
    case kCapsModel:
    case kCapsVerify:
      break;
  }
  VT_RETURN_IF_ERROR(CheckFilters(options));
  VT_ASSIGN_OR_RETURN(LoadedMachine loaded,
                      LoadMachine(SourceOf(options), console.interrupted_flag()));
  VT_RETURN_IF_ERROR(CheckDevices(options, loaded.machine));
  if (options.mode == kCapsModel) return RunCapsModel(options, loaded.machine, console);
  return RunReport(options, std::move(loaded), console);
}

}  // namespace

int RunCapsTool(std::span<const std::string_view> args) {
  CapsOptions options;
  const std::vector<Flag> table = CapsFlags(&options);
  const auto parse = [&] {
    const Status parsed = ParseCapsFlags(args, table, &options);
    return ToolStart{parsed, JsonWanted(options), options.quiet};
  };
  return ToolMain("vt-caps", args, parse,
                  [&](Console& console) { return Run(options, table, console); });
}

}  // namespace vt::cli
