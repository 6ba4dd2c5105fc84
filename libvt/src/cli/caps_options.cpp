#include "cli/caps_options.h"

#include <unistd.h>

#include <algorithm>

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

Flag ModeFlag(Flag row, CapsOptions* options, CapsMode mode) {
  row.modes = mode;
  row.apply = [=](std::string_view) {
    if (options->mode == kCapsHelp) return Status();
    if (mode != kCapsHelp && options->mode != kCapsReport && options->mode != mode) {
      return InvalidError("contradicts " + std::string(ModeName(options->mode)) + "; ask for one");
    }
    options->mode = mode;
    return Status();
  };
  return row;
}

// Documents that users name; an empty name is a mistake of a script.
Flag FileFlag(Flag row, std::string* target) {
  row.apply = [=](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    *target = text;
    return Status();
  };
  return row;
}

Status CheckRules(std::span<const Flag> table, const CapsOptions& options) {
  for (const Flag& flag : table) {
    if (options.given.contains(flag.name) && (flag.modes & options.mode) == 0) {
      return InvalidError("--" + std::string(flag.name) + ": has no effect with " +
                          std::string(ModeName(options.mode)) + "; leave it out");
    }
  }
  constexpr std::pair<std::string_view, std::string_view> kExclusive[] = {
      {"json", "table"}, {"caps", "profile"}, {"caps", "sim"}, {"profile", "sim"}};
  for (const auto& [a, b] : kExclusive) {
    if (options.given.contains(a) && options.given.contains(b)) {
      return InvalidError("--" + std::string(a) + " and --" + std::string(b) +
                          " contradict each other; give one");
    }
  }
  if (options.caps_file == "-" && options.model == "-") {
    return InvalidError("--caps and --model both read stdin; give one of them a file");
  }
  if (options.profile_file == "-" && options.model == "-") {
    return InvalidError("--profile and --model both read stdin; give one of them a file");
  }
  if (options.model == "-" && std::find(options.sim_files.begin(), options.sim_files.end(), "-") !=
                                  options.sim_files.end()) {
    return InvalidError("--sim and --model both read stdin; give one of them a file");
  }
  return {};
}

// Takes the two documents of "diff" out of the arguments.
Status TakeDocuments(std::span<const Flag> table, std::span<const std::string_view> args,
                     std::vector<std::string_view>& rest, CapsOptions* options) {
  std::vector<std::string_view> files;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].size() < 2 || args[i][0] != '-') {
      files.push_back(args[i]);
      continue;
    }
    rest.push_back(args[i]);
    const auto flag = std::find_if(table.begin(), table.end(), [&](const Flag& one) {
      return args[i].starts_with("--") && args[i].substr(2) == one.name;
    });
    if (flag != table.end() && !flag->is_switch() && i + 1 < args.size()) rest.push_back(args[++i]);
  }
  if (options->mode == kCapsDiff && files.size() == 2) {
    options->diff_a = files[0];
    options->diff_b = files[1];
  }
  // Whoever asks for help need not name documents.
  const bool helps = std::any_of(rest.begin(), rest.end(), [](std::string_view argument) {
    return argument == "--help" || argument == "-h" || argument == "--version";
  });
  if (helps) return {};
  if (files.size() != 2) {
    return InvalidError("diff: takes two vt.caps/1 documents (" + std::to_string(files.size()) +
                        " given); write vt-caps diff A.json B.json");
  }
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
  t.push_back(FileFlag(
      Row("caps", "FILE", "a machine as vt-caps described it there", kCapsReport | kCapsModel),
      &o->caps_file));
  t.push_back(FileFlag(Row("profile", "FILE", "a machine of profiles/", kCapsReport | kCapsModel),
                       &o->profile_file));
  t.push_back(
      ListFlag(Row("sim", "FILE", "adds sim:0, sim:1, .. as profiles describe them", kMachines),
               &o->sim_files));
  t.push_back(ChoiceFlag(Row("isa", "ISA", "scalar, avx2, avx512 or avx512vnni at most", kMachines),
                         &o->isa, {"scalar", "avx2", "avx512", "avx512vnni"}));
  Flag model = Row("model", "FILE", "what runs the ops of a GGUF file or vt.model/1", kCapsModel);
  model.letter = 'm';
  model.apply = [o](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    if (o->mode == kCapsReport) o->mode = kCapsModel;
    if (o->mode != kCapsModel && o->mode != kCapsHelp) {
      return InvalidError("contradicts " + std::string(ModeName(o->mode)) + "; ask for one");
    }
    o->model = text;
    return Status();
  };
  t.push_back(std::move(model));
  t.push_back(ChoiceFlag(Row("require", "TIER", "exit 1 when less: native or composed", kCapsModel),
                         &o->require, {"native", "composed"}));
  t.push_back(ChoiceFlag(Row("kv-type", "TYPE", "f32, f16, bf16 or q8_0", kCapsModel), &o->kv_type,
                         {"f32", "f16", "bf16", "q8_0"}));
  Flag context = Row("ctx", "N", "positions", kCapsModel);
  context.default_text = "the model's, at most 4096";
  t.push_back(
      IntegerFlag(std::move(context), &o->context, 1, std::numeric_limits<std::int32_t>::max()));
  t.push_back(
      SwitchFlag(Row("exact", "", "as vt-run --exact: weights decoded", kCapsModel), &o->exact));
  t.push_back(
      ModeFlag(Row("verify", "", "runs every kernel against the reference", 0), o, kCapsVerify));
  t.push_back(IntegerFlag(Row("timeout-s", "N", "a kernel hangs after N seconds", kCapsVerify),
                          &o->timeout_s, 1, 86400));
  t.push_back(ModeFlag(Row("markdown", "", "the text of docs/ops.md", 0), o, kCapsMarkdown));
  t.push_back(SwitchFlag(Row("json", "", "JSON, the default when piped", kAnswers), &o->json));
  t.push_back(
      SwitchFlag(Row("table", "", "a table, the default at a terminal", kAnswers), &o->table));
  t.push_back(SwitchFlag(Row("quiet", "", "no progress and no notes on stderr", ~0u), &o->quiet));
  t.push_back(ModeFlag(Row("version", "", "the version", 0), o, kCapsVersion));
  Flag help = Row("help", "", "this text", 0);
  help.letter = 'h';
  t.push_back(ModeFlag(std::move(help), o, kCapsHelp));
  return t;
}

Status ParseCapsFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                      CapsOptions* options) {
  std::vector<std::string_view> rest(args.begin(), args.end());
  if (!args.empty() && args[0] == "diff") {
    options->mode = kCapsDiff;
    rest.clear();
    VT_RETURN_IF_ERROR(TakeDocuments(table, args.subspan(1), rest, options));
  }
  // Help and version are answers to anything.
  for (const std::string_view argument : rest) {
    if (argument == "--help" || argument == "-h") {
      options->mode = kCapsHelp;
      return {};
    }
  }
  VT_ASSIGN_OR_RETURN(options->given, ParseFlags(table, rest));
  return CheckRules(table, *options);
}

bool JsonWanted(const CapsOptions& options) {
  if (options.mode == kCapsHelp || options.mode == kCapsVersion || options.mode == kCapsMarkdown) {
    return false;
  }
  if (options.json || options.table) return options.json;
  return isatty(STDOUT_FILENO) != 1;
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
