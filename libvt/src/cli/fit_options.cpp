#include "cli/fit_options.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

namespace vt::cli {
namespace {

constexpr unsigned kModels = kFitModel | kFitProfiles;
constexpr unsigned kOne = kFitModel | kFitPlan;
constexpr unsigned kAnswers = kOne | kFitProfiles;
constexpr std::string_view kWhat = "What";
constexpr std::string_view kWhere = "Where";
constexpr std::string_view kAnswer = "Answer";

std::string_view ModeName(FitMode mode) {
  if (mode == kFitPlan) return "a plan, which says it";
  return mode == kFitProfiles ? "--profile all" : "a model";
}

Flag Row(std::string_view group, std::string_view name, std::string_view value,
         std::string_view doc, unsigned modes) {
  return {.name = name, .value = value, .group = group, .doc = doc, .modes = modes};
}

Flag DefaultHome(Flag row) {
  row.default_text = "the model's";
  return row;
}

Flag NameFlag(Flag row, std::string* target) {
  row.apply = [=](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    *target = text;
    return Status();
  };
  return row;
}

// Several lists are one: a device that two of them name is refused with the list's own words.
Flag SizesFlag(Flag row, DeviceBytes* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    VT_ASSIGN_OR_RETURN(const DeviceBytes sizes, ParseBudgets(text));
    target->insert(target->end(), sizes.begin(), sizes.end());
    return Status();
  };
  return row;
}

Flag ContextFlag(Flag row, FitOptions* o) {
  row.default_text = "the model's, at most 4096";
  row.apply = [o](std::string_view text) {
    o->auto_context = text == "auto";
    if (o->auto_context) return Status();
    VT_ASSIGN_OR_RETURN(o->context,
                        ParseInteger(text, 1, std::numeric_limits<std::int32_t>::max()));
    return Status();
  };
  return row;
}

Flag ModeFlag(Flag row, FitOptions* options, FitMode mode) {
  row.apply = [=](std::string_view) {
    options->mode = mode;
    return Status();
  };
  return row;
}

Status CheckRules(std::span<const Flag> table, const FitOptions& options) {
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
  constexpr std::pair<std::string_view, std::string_view> kNeeds[] = {
      {"draft-max", "draft"}, {"draft-device", "draft"}, {"mmproj-device", "mmproj"}};
  for (const auto& [flag, other] : kNeeds) {
    if (options.given.contains(flag) && !options.given.contains(other)) {
      return InvalidError("--" + std::string(flag) + ": has an effect only with --" +
                          std::string(other));
    }
  }
  if (options.mode != kFitPlan && options.model.empty()) {
    return InvalidError("no model; give one with --model FILE, or a plan with --plan FILE");
  }
  std::vector<std::string_view> from_stdin;
  const auto look = [&](std::string_view flag, const std::string& value) {
    if (value == "-") from_stdin.push_back(flag);
  };
  look("--model", options.model);
  look("--plan", options.plan);
  look("--draft", options.draft);
  look("--mmproj", options.projector);
  look("--caps", options.caps_file);
  look("--profile", options.profile);
  for (const std::string& sim : options.sim_files) look("--sim", sim);
  if (from_stdin.size() > 1) {
    return InvalidError(std::string(from_stdin[0]) + " and " + std::string(from_stdin[1]) +
                        " both read stdin; give one of them a file");
  }
  return {};
}

}  // namespace

std::vector<Flag> FitFlags(FitOptions* o) {
  std::vector<Flag> t;
  Flag model =
      NameFlag(Row(kWhat, "model", "FILE", "GGUF, a Hugging Face folder, or vt.model/1", kAnswers),
               &o->model);
  model.letter = 'm';
  t.push_back(std::move(model));
  t.push_back(NameFlag(
      Row(kWhat, "plan", "FILE", "a vt.plan/1 instead; it is printed with the verdict", kFitPlan),
      &o->plan));
  t.push_back(
      ContextFlag(Row(kWhat, "ctx", "N", "positions of a sequence; auto: what fits", kModels), o));
  t.push_back(IntegerFlag(Row(kWhat, "sequences", "N", "that run at once", kModels), &o->sequences,
                          1, 4096));
  t.push_back(IntegerFlag(Row(kWhat, "ubatch", "N", "most tokens of one step", kModels), &o->ubatch,
                          1, 65536));
  t.push_back(ChoiceFlag(Row(kWhat, "kv-type", "TYPE", "f32, f16, bf16 or q8_0", kModels),
                         &o->kv_type, {"f32", "f16", "bf16", "q8_0"}));
  Flag threads = Row(kWhat, "threads", "N", "of the cpu", kModels);
  threads.default_text = "one per core";
  t.push_back(IntegerFlag(std::move(threads), &o->threads, 1, 1024));

  t.push_back(NameFlag(
      Row(kWhat, "draft", "FILE", "a draft model beside it, as vt-run --draft runs one", kOne),
      &o->draft));
  t.push_back(IntegerFlag(Row(kWhat, "draft-max", "N", "most guesses of a step", kOne),
                          &o->draft_max, 1, 64));
  t.push_back(NameFlag(
      Row(kWhat, "mmproj", "FILE", "a projector beside it, for servers that run one", kOne),
      &o->projector));

  Flag device = NameFlag(Row(kWhere, "device", "ID", "that runs all: cuda:0", kModels), &o->device);
  device.default_text = "cpu";
  t.push_back(std::move(device));
  t.push_back(
      NameFlag(DefaultHome(Row(kWhere, "draft-device", "ID", "that runs the draft model", kOne)),
               &o->draft_device));
  t.push_back(
      NameFlag(DefaultHome(Row(kWhere, "mmproj-device", "ID", "that holds the projector", kOne)),
               &o->projector_device));
  t.push_back(NameFlag(Row(kWhere, "caps", "FILE", "a machine as vt-caps described it", kOne),
                       &o->caps_file));
  t.push_back(NameFlag(
      Row(kWhere, "profile", "NAME", "a machine of profiles/, a file; all: each", kAnswers),
      &o->profile));
  t.push_back(ListFlag(Row(kWhere, "sim", "FILE", "adds the simulated devices of a profile", kOne),
                       &o->sim_files));
  t.push_back(SizesFlag(
      Row(kWhere, "budget", "ID=SIZE,..", "what may be taken: cpu=16GiB,cuda:0=20GiB", kOne),
      &o->budgets.given));
  t.push_back(
      SizesFlag(Row(kWhere, "reserve", "ID=SIZE,..", "left to the rest of the machine", kOne),
                &o->budgets.reserves));
  t.push_back(SwitchFlag(Row(kWhere, "live", "", "what is free right now counts as well", kOne),
                         &o->budgets.live));
  t.push_back(NameFlag(
      Row(kWhere, "calibration", "FILE", "runtime as vt-run --calibrate measured it", kAnswers),
      &o->calibration));

  t.push_back(SwitchFlag(Row(kAnswer, "max-context", "", "the largest context that fits", kOne),
                         &o->max_context));
  t.push_back(
      SwitchFlag(Row(kAnswer, "curve", "", "memory against context, by KV type", kOne), &o->curve));
  t.push_back(
      NameFlag(Row(kAnswer, "plot", "FILE", "the curve as an SVG picture", kOne), &o->plot));
  t.push_back(
      SwitchFlag(Row(kAnswer, "json", "", "JSON, the default when piped", kAnswers), &o->json));
  t.push_back(SwitchFlag(Row(kAnswer, "table", "", "a table, the default at a terminal", kAnswers),
                         &o->table));
  t.push_back(SwitchFlag(Row(kAnswer, "quiet", "", "no notes on stderr", ~0u), &o->quiet));
  t.push_back(ModeFlag(Row(kAnswer, "version", "", "the version", ~0u), o, kFitVersion));
  Flag help = Row(kAnswer, "help", "", "this text", ~0u);
  help.letter = 'h';
  t.push_back(ModeFlag(std::move(help), o, kFitHelp));
  return t;
}

namespace {

// The "-" that is no flag's value: a plan on stdin.
std::vector<std::string_view>::iterator FindDash(std::span<const Flag> table,
                                                 std::vector<std::string_view>& args) {
  const auto takes_value = [&](std::string_view argument) {
    return std::any_of(table.begin(), table.end(), [&](const Flag& flag) {
      const bool named = argument.starts_with("--") && argument.substr(2) == flag.name;
      const bool lettered = flag.letter != 0 && argument.size() == 2 && argument[0] == '-' &&
                            argument[1] == flag.letter;
      return (named || lettered) && !flag.is_switch();
    });
  };
  for (auto at = args.begin(); at != args.end(); ++at) {
    if (*at == "-" && (at == args.begin() || !takes_value(*(at - 1)))) return at;
  }
  return args.end();
}

}  // namespace

Status ParseFitFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                     FitOptions* options) {
  std::vector<std::string_view> rest(args.begin(), args.end());
  for (const std::string_view argument : rest) {
    if (argument == "--help" || argument == "-h") {
      options->mode = kFitHelp;
      return {};
    }
  }
  const auto dash = FindDash(table, rest);
  const bool plan_given = dash != rest.end();
  if (plan_given) rest.erase(dash);
  VT_ASSIGN_OR_RETURN(options->given, ParseFlags(table, rest));
  if (options->mode == kFitVersion) return {};
  if (plan_given) {
    if (options->given.contains("plan")) {
      return InvalidError("-: is a plan on stdin, and --plan gives another; give one");
    }
    options->plan = "-";
  }
  if (!options->plan.empty()) {
    options->mode = kFitPlan;
  } else if (options->profile == "all") {
    options->mode = kFitProfiles;
  }
  return CheckRules(table, *options);
}

bool JsonWanted(const FitOptions& options) {
  if (options.mode == kFitHelp || options.mode == kFitVersion) return false;
  if (options.json || options.table) return options.json;
  return isatty(STDOUT_FILENO) != 1;
}

std::string FitHelp(std::span<const Flag> table) {
  return "usage: vt-fit --model FILE [flags]   does a model fit?\n"
         "       vt-fit - [flags]              the plan on stdin; it goes on to stdout\n"
         "exit code: 0 fits, 1 does not or by paging alone, 4 cannot tell\n" +
         FlagHelp(table);
}

}  // namespace vt::cli
