#include "cli/fit_options.h"

#include "cli/flag_rows.h"
#include "cli/flag_rules.h"

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

Status CheckRules(std::span<const Flag> table, const FitOptions& options) {
  VT_RETURN_IF_ERROR(CheckEffect(table, options.given, options.mode, ModeName(options.mode)));
  VT_RETURN_IF_ERROR(CheckAlternatives(options.given));
  VT_RETURN_IF_ERROR(
      CheckNeeds(options.given,
                 {{"draft-max", "draft"}, {"draft-device", "draft"}, {"mmproj-device", "mmproj"}}));
  if (options.mode != kFitPlan && options.model.empty()) {
    return InvalidError("no model; give one with --model FILE, or a plan with --plan FILE");
  }
  std::vector<NamedFile> files = {{"--model", options.model},    {"--plan", options.plan},
                                  {"--draft", options.draft},    {"--mmproj", options.projector},
                                  {"--caps", options.caps_file}, {"--profile", options.profile}};
  for (const std::string& sim : options.sim_files) files.push_back({"--sim", sim});
  return CheckStdin(files);
}

}  // namespace

std::vector<Flag> FitFlags(FitOptions* o) {
  std::vector<Flag> t;
  t.push_back(
      WithLetter('m', NameFlag(FlagRow(kWhat, "model", "FILE",
                                       "GGUF, a Hugging Face folder, or vt.model/1", kAnswers),
                               &o->model)));
  t.push_back(NameFlag(FlagRow(kWhat, "plan", "FILE",
                               "a vt.plan/1 instead; it is printed with the verdict", kFitPlan),
                       &o->plan));
  AddSettingFlags(t, kWhat, kModels, &o->settings);

  t.push_back(NameFlag(
      FlagRow(kWhat, "draft", "FILE", "a draft model beside it, as vt-run --draft runs one", kOne),
      &o->draft));
  t.push_back(IntegerFlag(FlagRow(kWhat, "draft-max", "N", "most guesses of a step", kOne),
                          &o->draft_max, 1, 64));
  t.push_back(NameFlag(
      FlagRow(kWhat, "mmproj", "FILE", "a projector beside it, for servers that run one", kOne),
      &o->projector));

  t.push_back(NameFlag(
      WithDefault("cpu", FlagRow(kWhere, "device", "ID", "that runs all: cuda:0", kModels)),
      &o->device));
  const std::string home = "the model's";
  t.push_back(NameFlag(
      WithDefault(home, FlagRow(kWhere, "draft-device", "ID", "that runs the draft model", kOne)),
      &o->draft_device));
  t.push_back(NameFlag(
      WithDefault(home, FlagRow(kWhere, "mmproj-device", "ID", "that holds the projector", kOne)),
      &o->projector_device));
  t.push_back(NameFlag(FlagRow(kWhere, "caps", "FILE", "a machine as vt-caps described it", kOne),
                       &o->caps_file));
  t.push_back(NameFlag(
      FlagRow(kWhere, "profile", "NAME", "a machine of profiles/, a file; all: each", kAnswers),
      &o->profile));
  t.push_back(
      ListFlag(FlagRow(kWhere, "sim", "FILE", "adds the simulated devices of a profile", kOne),
               &o->sim_files));
  AddBudgetFlags(t, kWhere, kOne, &o->budgets);
  t.push_back(NameFlag(
      FlagRow(kWhere, "calibration", "FILE", "runtime as vt-run --calibrate measured it", kAnswers),
      &o->calibration));

  t.push_back(SwitchFlag(FlagRow(kAnswer, "max-context", "", "the largest context that fits", kOne),
                         &o->max_context));
  t.push_back(SwitchFlag(FlagRow(kAnswer, "curve", "", "memory against context, by KV type", kOne),
                         &o->curve));
  t.push_back(
      NameFlag(FlagRow(kAnswer, "plot", "FILE", "the curve as an SVG picture", kOne), &o->plot));
  AddFormFlags(t, kAnswer, kAnswers, &o->json, &o->table);
  t.push_back(SwitchFlag(FlagRow(kAnswer, "quiet", "", "no notes on stderr"), &o->quiet));
  t.push_back(ModeFlag(FlagRow(kAnswer, "version", "", "the version"), &o->mode, kFitVersion));
  t.push_back(
      WithLetter('h', ModeFlag(FlagRow(kAnswer, "help", "", "this text"), &o->mode, kFitHelp)));
  return t;
}

namespace {

// The "-" that is no flag's value: a plan on stdin.
std::vector<std::string_view>::iterator FindDash(std::span<const Flag> table,
                                                 std::vector<std::string_view>& args) {
  const auto takes_value = [&](std::string_view argument) {
    const Flag* flag = FindFlag(table, argument);
    return flag && !flag->is_switch();
  };
  for (auto at = args.begin(); at != args.end(); ++at) {
    if (*at == "-" && (at == args.begin() || !takes_value(*(at - 1)))) return at;
  }
  return args.end();
}

}  // namespace

Status ParseFitFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                     FitOptions* options) {
  if (AsksForHelp(args)) {
    options->mode = kFitHelp;
    return {};
  }
  std::vector<std::string_view> rest(args.begin(), args.end());
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
  return AnswersInJson(options.json, options.table);
}

std::string FitHelp(std::span<const Flag> table) {
  return "usage: vt-fit --model FILE [flags]   does a model fit?\n"
         "       vt-fit - [flags]              the plan on stdin; it goes on to stdout\n"
         "exit code: 0 fits, 1 does not or by paging alone, 4 cannot tell\n" +
         FlagHelp(table);
}

}  // namespace vt::cli
