#include "cli/caps_options.h"

#include <algorithm>

#include "cli/flag_rows.h"
#include "cli/flag_rules.h"
#include "vt/dtype.h"

namespace vt::cli {
namespace {

constexpr unsigned kReports = kCapsReport | kCapsVerify;
constexpr unsigned kMachines = kReports | kCapsModel;
constexpr unsigned kAnswers = kMachines | kCapsDiff;
constexpr std::string_view kGroup = "Flags";

std::string_view ModeName(CapsMode mode) {
  switch (mode) {
    case kCapsReport:
      return "a report of the machine";
    case kCapsModel:
      return "--model";
    case kCapsVerify:
      return "--verify";
    case kCapsMarkdown:
      return "--markdown";
    case kCapsDiff:
      return "diff";
    case kCapsHelp:
      return "--help";
    case kCapsVersion:
      return "--version";
  }
  return "";
}

Flag Row(std::string_view name, std::string_view value, std::string_view doc, unsigned modes) {
  return {.name = name, .value = value, .group = kGroup, .doc = doc, .modes = modes};
}

// Makes `mode` what the program does, where nothing else was asked for.
Status SetMode(CapsMode mode, CapsOptions* options) {
  if (options->mode != kCapsReport && options->mode != mode) {
    return InvalidError("contradicts " + std::string(ModeName(options->mode)) + "; ask for one");
  }
  options->mode = mode;
  return {};
}

Flag OnlyModeFlag(Flag row, CapsOptions* options, CapsMode mode) {
  row.modes = mode;
  row.apply = [=](std::string_view) { return SetMode(mode, options); };
  return row;
}

Status CheckRules(std::span<const Flag> table, const CapsOptions& options) {
  VT_RETURN_IF_ERROR(CheckEffect(table, options.given, options.mode, ModeName(options.mode)));
  VT_RETURN_IF_ERROR(CheckAlternatives(options.given));
  std::vector<NamedFile> files = {{"--caps", options.caps_file},
                                  {"--profile", options.profile_file}};
  for (const std::string& sim : options.sim_files) files.push_back({"--sim", sim});
  files.push_back({"--model", options.model});
  return CheckStdin(files);
}

// The documents of "diff".
Status TakeDocuments(const std::vector<std::string>& files, CapsOptions* options) {
  if (files.size() != 2) {
    return InvalidError("diff: takes two vt.caps/1 documents (" + std::to_string(files.size()) +
                        " given); write vt-caps diff A.json B.json");
  }
  options->diff_a = files[0];
  options->diff_b = files[1];
  if (options->diff_a == "-" && options->diff_b == "-") {
    return InvalidError("diff: only one of the two documents can be stdin");
  }
  return {};
}

}  // namespace

std::vector<Flag> CapsFlags(CapsOptions* o) {
  std::vector<Flag> t;
  t.push_back(ListFlag(Row("op", "NAME", "only this op; may be repeated", kReports), &o->ops));
  t.push_back(
      ListFlag(Row("dtype", "TYPE", "only kernels that take this type", kReports), &o->dtypes));
  t.push_back(ListFlag(Row("device", "ID", "only this device or kind: cpu, cuda:0, hip", kMachines),
                       &o->devices));
  t.push_back(NameFlag(
      Row("caps", "FILE", "a machine as vt-caps described it there", kCapsReport | kCapsModel),
      &o->caps_file));
  t.push_back(NameFlag(Row("profile", "FILE", "a machine of profiles/", kCapsReport | kCapsModel),
                       &o->profile_file));
  t.push_back(
      ListFlag(Row("sim", "FILE", "adds sim:0, sim:1, .. as profiles describe them", kMachines),
               &o->sim_files));
  t.push_back(
      IsaFlag(Row("isa", "ISA", "scalar, avx2, avx512 or avx512vnni at most", kMachines), &o->isa));
  Flag model = WithLetter(
      'm', Row("model", "FILE", "what runs the ops of a GGUF file or vt.model/1", kCapsModel));
  model.apply = [o](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    o->model = text;
    return SetMode(kCapsModel, o);
  };
  t.push_back(std::move(model));
  t.push_back(ChoiceFlag(Row("require", "TIER", "exit 1 when less: native or composed", kCapsModel),
                         &o->require, {"native", "composed"}));
  t.push_back(
      KvTypeFlag(Row("kv-type", "TYPE", "f32, f16, bf16 or q8_0", kCapsModel), &o->kv_type));
  t.push_back(IntegerFlag(
      WithDefault("the model's, at most 4096", Row("ctx", "N", "positions", kCapsModel)),
      &o->context, 1, std::numeric_limits<std::int32_t>::max()));
  t.push_back(
      SwitchFlag(Row("exact", "", "as vt-run --exact: weights decoded", kCapsModel), &o->exact));
  t.push_back(OnlyModeFlag(Row("verify", "", "runs every kernel against the reference", 0), o,
                           kCapsVerify));
  t.push_back(IntegerFlag(Row("timeout-s", "N", "a kernel hangs after N seconds", kCapsVerify),
                          &o->timeout_s, 1, 86400));
  t.push_back(OnlyModeFlag(Row("markdown", "", "the text of docs/ops.md", 0), o, kCapsMarkdown));
  AddFormFlags(t, kGroup, kAnswers, &o->json, &o->table);
  t.push_back(SwitchFlag(Row("quiet", "", "no progress and no notes on stderr", ~0u), &o->quiet));
  t.push_back(OnlyModeFlag(Row("version", "", "the version", 0), o, kCapsVersion));
  t.push_back(WithLetter('h', OnlyModeFlag(Row("help", "", "this text", 0), o, kCapsHelp)));
  return t;
}

Status ParseCapsFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                      CapsOptions* options) {
  if (AsksForHelp(args)) {
    options->mode = kCapsHelp;
    return {};
  }
  std::vector<std::string_view> flags(args.begin(), args.end());
  if (!args.empty() && args[0] == "diff") {
    options->mode = kCapsDiff;
    SplitArguments split = SplitFiles(table, args.subspan(1));
    flags = std::move(split.flags);
    // Whoever asks for the version need not name documents.
    if (std::find(flags.begin(), flags.end(), "--version") == flags.end()) {
      VT_RETURN_IF_ERROR(TakeDocuments(split.files, options));
    }
  }
  VT_ASSIGN_OR_RETURN(options->given, ParseFlags(table, flags));
  return CheckRules(table, *options);
}

bool JsonWanted(const CapsOptions& options) {
  if (options.mode == kCapsHelp || options.mode == kCapsVersion || options.mode == kCapsMarkdown) {
    return false;
  }
  return AnswersInJson(options.json, options.table);
}

bool DeviceWanted(const CapsOptions& options, std::string_view id) {
  if (options.devices.empty()) return true;
  const std::string_view kind = id.substr(0, id.find(':'));
  return std::any_of(options.devices.begin(), options.devices.end(),
                     [&](const std::string& wanted) { return wanted == id || wanted == kind; });
}

std::string CapsHelp(std::span<const Flag> table) {
  return "usage: vt-caps [flags]              what this machine can run\n"
         "       vt-caps diff A.json B.json   what one machine can run and another cannot\n" +
         FlagHelp(table);
}

}  // namespace vt::cli
