#include "cli/place_options.h"

#include <algorithm>

#include "cli/flag_rows.h"
#include "cli/flag_rules.h"

namespace vt::cli {
namespace {

constexpr unsigned kReads = kPlaceExplain | kPlaceDiff | kPlaceShow;
constexpr unsigned kAnswers = kPlaceModel | kReads;
constexpr std::string_view kWhat = "What";
constexpr std::string_view kWhere = "Where";
constexpr std::string_view kHow = "How";
constexpr std::string_view kAnswer = "Answer";

std::string_view ModeName(PlaceMode mode) {
  switch (mode) {
    case kPlaceExplain:
      return "explain";
    case kPlaceDiff:
      return "diff";
    case kPlaceShow:
      return "show";
    default:
      return "--model";
  }
}

Flag Row(std::string_view group, std::string_view name, std::string_view value,
         std::string_view doc) {
  return FlagRow(group, name, value, doc, kPlaceModel);
}

// "cpu,cuda:0", each once.
Flag DevicesFlag(Flag row, std::vector<std::string>* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    while (true) {
      const std::size_t comma = std::min(text.find(','), text.size());
      const std::string id(text.substr(0, comma));
      if (id.empty()) return InvalidError("a device's name is empty; write ID,ID");
      if (std::find(target->begin(), target->end(), id) != target->end()) {
        return InvalidError("names device " + id + " twice");
      }
      target->push_back(id);
      if (comma == text.size()) return Status();
      text.remove_prefix(comma + 1);
    }
  };
  return row;
}

Flag PinFlag(Flag row, std::vector<Pin>* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    VT_ASSIGN_OR_RETURN(Pin pin, ParsePin(text));
    target->push_back(std::move(pin));
    return Status();
  };
  return row;
}

Flag ObjectiveFlag(Flag row, Objective* target) {
  row.default_text = NameOf(*target);
  row.apply = [=](std::string_view text) {
    VT_ASSIGN_OR_RETURN(*target, ParseObjective(text));
    return Status();
  };
  return row;
}

Status CheckRules(std::span<const Flag> table, const PlaceOptions& options) {
  VT_RETURN_IF_ERROR(CheckEffect(table, options.given, options.mode, ModeName(options.mode)));
  VT_RETURN_IF_ERROR(CheckAlternatives(options.given));
  VT_RETURN_IF_ERROR(CheckExclusive(options.given, {{"cpu-moe", "n-cpu-moe"}}));
  if (options.mode == kPlaceModel && options.model.empty()) {
    return InvalidError("no model; give one with --model FILE");
  }
  if (options.mode == kPlaceExplain && options.tensor.empty()) {
    return InvalidError("explain: which tensor? write vt-place explain PLAN --tensor NAME");
  }
  std::vector<NamedFile> files = {
      {"--model", options.model}, {"--caps", options.caps_file}, {"--profile", options.profile}};
  for (const std::string& sim : options.sim_files) files.push_back({"--sim", sim});
  files.push_back({"the plan", options.plan});
  files.push_back({"the second plan", options.plan_b});
  return CheckStdin(files);
}

// The plans of a sub-command.
Status TakePlans(const std::vector<std::string>& files, PlaceOptions* options) {
  const std::size_t wanted = options->mode == kPlaceDiff ? 2 : 1;
  if (files.size() != wanted) {
    const std::string form = options->mode == kPlaceDiff      ? "diff A.json B.json"
                             : options->mode == kPlaceExplain ? "explain PLAN --tensor NAME"
                                                              : "show PLAN [--svg FILE]";
    return InvalidError(std::string(ModeName(options->mode)) + ": takes " +
                        (wanted == 2 ? "two plans" : "one plan") + " (" +
                        std::to_string(files.size()) + " given); write vt-place " + form);
  }
  options->plan = files[0];
  if (wanted == 2) options->plan_b = files[1];
  return {};
}

}  // namespace

std::vector<Flag> PlaceFlags(PlaceOptions* o) {
  std::vector<Flag> t;
  t.push_back(WithLetter(
      'm', NameFlag(Row(kWhat, "model", "FILE", "GGUF, a Hugging Face folder, or vt.model/1"),
                    &o->model)));
  AddSettingFlags(t, kWhat, kPlaceModel, &o->settings);
  t.push_back(SwitchFlag(Row(kWhat, "exact", "", "as vt-run --exact: weights decoded"), &o->exact));

  t.push_back(
      NameFlag(Row(kWhere, "caps", "FILE", "a machine as vt-caps described it"), &o->caps_file));
  t.push_back(
      NameFlag(Row(kWhere, "profile", "NAME", "a machine of profiles/, or a file"), &o->profile));
  t.push_back(ListFlag(Row(kWhere, "sim", "FILE", "adds the simulated devices of a profile"),
                       &o->sim_files));
  t.push_back(DevicesFlag(WithDefault("all", Row(kWhere, "device", "ID,..", "that may be used")),
                          &o->devices));
  AddBudgetFlags(t, kWhere, kPlaceModel, &o->budgets);

  t.push_back(PinFlag(Row(kHow, "pin", "REGEX=ID", "tensors that must lie on a device"), &o->pins));
  t.push_back(
      SwitchFlag(Row(kHow, "cpu-moe", "", "the experts of all layers on the cpu"), &o->cpu_moe));
  t.push_back(IntegerFlag(WithDefault("none", Row(kHow, "n-cpu-moe", "N",
                                                  "the experts of the first N layers on the cpu")),
                          &o->n_cpu_moe, 1, 1 << 20));
  t.push_back(IntegerFlag(WithDefault("all", Row(kHow, "expert-slots", "N",
                                                 "experts of a layer that a gpu holds at a time")),
                          &o->expert_slots, 1, 1 << 20));
  t.push_back(ObjectiveFlag(
      Row(kHow, "objective", "NAME", "what must be fast: decode, prefill or balanced"),
      &o->objective));

  t.push_back(
      NameFlag(FlagRow(kAnswer, "tensor", "NAME", "which tensor explain is about", kPlaceExplain),
               &o->tensor));
  t.push_back(NameFlag(
      FlagRow(kAnswer, "svg", "FILE", "show: the memory map as a picture", kPlaceShow), &o->svg));
  t.push_back(WithLetter(
      'o',
      NameFlag(Row(kAnswer, "out", "FILE", "the plan goes there, a table to stdout"), &o->out)));
  AddFormFlags(t, kAnswer, kAnswers, &o->json, &o->table);
  t.push_back(SwitchFlag(FlagRow(kAnswer, "quiet", "", "no notes on stderr"), &o->quiet));
  t.push_back(ModeFlag(FlagRow(kAnswer, "version", "", "the version"), &o->mode, kPlaceVersion));
  t.push_back(
      WithLetter('h', ModeFlag(FlagRow(kAnswer, "help", "", "this text"), &o->mode, kPlaceHelp)));
  return t;
}

Status ParsePlaceFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                       PlaceOptions* options) {
  if (AsksForHelp(args)) {
    options->mode = kPlaceHelp;
    return {};
  }
  std::vector<std::string_view> flags(args.begin(), args.end());
  for (const PlaceMode mode : {kPlaceExplain, kPlaceDiff, kPlaceShow}) {
    if (args.empty() || args[0] != ModeName(mode)) continue;
    options->mode = mode;
    SplitArguments split = SplitFiles(table, args.subspan(1));
    flags = std::move(split.flags);
    // Whoever asks for the version need not name plans.
    if (std::find(flags.begin(), flags.end(), "--version") != flags.end()) continue;
    VT_RETURN_IF_ERROR(TakePlans(split.files, options));
  }
  VT_ASSIGN_OR_RETURN(options->given, ParseFlags(table, flags));
  if (options->mode == kPlaceVersion) return {};
  return CheckRules(table, *options);
}

bool JsonWanted(const PlaceOptions& options) {
  if (options.mode == kPlaceHelp || options.mode == kPlaceVersion) return false;
  if (options.json || options.table) return options.json;
  if (!options.out.empty() && options.out != "-") return false;
  return AnswersInJson(false, false);
}

std::string PlaceHelp(std::span<const Flag> table) {
  return "usage: vt-place --model FILE [flags]        makes a plan of where all of it lies\n"
         "       vt-place explain PLAN --tensor NAME  why a tensor lies where it does\n"
         "       vt-place diff A B                    what moved from one plan to another\n"
         "       vt-place show PLAN [--svg FILE]      a plan's memory map\n"
         "exit code: 0 placed, 1 nothing fits (diff: they differ), 2 a wrong question\n" +
         FlagHelp(table);
}

}  // namespace vt::cli
