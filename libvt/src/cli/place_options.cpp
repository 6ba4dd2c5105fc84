#include "cli/place_options.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

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
         std::string_view doc, unsigned modes = kPlaceModel) {
  return {.name = name, .value = value, .group = group, .doc = doc, .modes = modes};
}

Flag NameFlag(Flag row, std::string* target) {
  row.apply = [=](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    *target = text;
    return Status();
  };
  return row;
}

Flag SizesFlag(Flag row, DeviceBytes* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    VT_ASSIGN_OR_RETURN(const DeviceBytes sizes, ParseBudgets(text));
    target->insert(target->end(), sizes.begin(), sizes.end());
    return Status();
  };
  return row;
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

// The last "=" ends the pattern, which may hold some itself.
Flag PinFlag(Flag row, std::vector<Pin>* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
      return InvalidError("\"" + ValidUtf8(text) +
                          "\" is no pin; write 'REGEX=DEVICE', as in 'ffn_.*_exps=cpu'");
    }
    target->push_back({std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
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

Flag ModeFlag(Flag row, PlaceOptions* options, PlaceMode mode) {
  row.apply = [=](std::string_view) {
    options->mode = mode;
    return Status();
  };
  return row;
}

Status CheckStdin(const PlaceOptions& options) {
  std::vector<std::string_view> readers;
  const auto look = [&](std::string_view what, const std::string& value) {
    if (value == "-") readers.push_back(what);
  };
  look("--model", options.model);
  look("--caps", options.caps_file);
  look("--profile", options.profile);
  for (const std::string& sim : options.sim_files) look("--sim", sim);
  look("the plan", options.plan);
  look("the second plan", options.plan_b);
  if (readers.size() < 2) return {};
  return InvalidError(std::string(readers[0]) + " and " + std::string(readers[1]) +
                      " both read stdin; give one of them a file");
}

Status CheckRules(std::span<const Flag> table, const PlaceOptions& options) {
  for (const Flag& flag : table) {
    if (options.given.contains(flag.name) && (flag.modes & options.mode) == 0) {
      return InvalidError("--" + std::string(flag.name) + ": has no effect with " +
                          std::string(ModeName(options.mode)) + "; leave it out");
    }
  }
  constexpr std::pair<std::string_view, std::string_view> kExclusive[] = {{"json", "table"},
                                                                          {"caps", "profile"},
                                                                          {"caps", "sim"},
                                                                          {"profile", "sim"},
                                                                          {"cpu-moe", "n-cpu-moe"}};
  for (const auto& [a, b] : kExclusive) {
    if (options.given.contains(a) && options.given.contains(b)) {
      return InvalidError("--" + std::string(a) + " and --" + std::string(b) +
                          " contradict each other; give one");
    }
  }
  if (options.mode == kPlaceModel && options.model.empty()) {
    return InvalidError("no model; give one with --model FILE");
  }
  if (options.mode == kPlaceExplain && options.tensor.empty()) {
    return InvalidError("explain: which tensor? write vt-place explain PLAN --tensor NAME");
  }
  return CheckStdin(options);
}

// Takes the plans of a sub-command out of the arguments.
Status TakePlans(std::span<const Flag> table, std::span<const std::string_view> args,
                 std::vector<std::string_view>& rest, PlaceOptions* options) {
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
    const bool letter =
        args[i].size() == 2 && std::any_of(table.begin(), table.end(), [&](const Flag& one) {
          return one.letter == args[i][1] && !one.is_switch();
        });
    const bool takes = letter || (flag != table.end() && !flag->is_switch());
    if (takes && i + 1 < args.size()) rest.push_back(args[++i]);
  }
  const bool helps = std::any_of(rest.begin(), rest.end(), [](std::string_view argument) {
    return argument == "--help" || argument == "-h" || argument == "--version";
  });
  if (helps) return {};
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
  Flag model = NameFlag(Row(kWhat, "model", "FILE", "GGUF, a Hugging Face folder, or vt.model/1"),
                        &o->model);
  model.letter = 'm';
  t.push_back(std::move(model));
  Flag context = Row(kWhat, "ctx", "N", "positions of a sequence");
  context.default_text = "the model's, at most 4096";
  t.push_back(
      IntegerFlag(std::move(context), &o->context, 1, std::numeric_limits<std::int32_t>::max()));
  t.push_back(
      IntegerFlag(Row(kWhat, "sequences", "N", "that run at once"), &o->sequences, 1, 4096));
  t.push_back(
      IntegerFlag(Row(kWhat, "ubatch", "N", "most tokens of one step"), &o->ubatch, 1, 65536));
  t.push_back(ChoiceFlag(Row(kWhat, "kv-type", "TYPE", "f32, f16, bf16 or q8_0"), &o->kv_type,
                         {"f32", "f16", "bf16", "q8_0"}));
  Flag threads = Row(kWhat, "threads", "N", "of the cpu");
  threads.default_text = "one per core";
  t.push_back(IntegerFlag(std::move(threads), &o->threads, 1, 1024));
  t.push_back(SwitchFlag(Row(kWhat, "exact", "", "as vt-run --exact: weights decoded"), &o->exact));

  t.push_back(
      NameFlag(Row(kWhere, "caps", "FILE", "a machine as vt-caps described it"), &o->caps_file));
  t.push_back(
      NameFlag(Row(kWhere, "profile", "NAME", "a machine of profiles/, or a file"), &o->profile));
  t.push_back(ListFlag(Row(kWhere, "sim", "FILE", "adds the simulated devices of a profile"),
                       &o->sim_files));
  Flag device = DevicesFlag(Row(kWhere, "device", "ID,..", "that may be used"), &o->devices);
  device.default_text = "all";
  t.push_back(std::move(device));
  t.push_back(
      SizesFlag(Row(kWhere, "budget", "ID=SIZE,..", "what may be taken: cpu=16GiB,cuda:0=20GiB"),
                &o->budgets.given));
  t.push_back(SizesFlag(Row(kWhere, "reserve", "ID=SIZE,..", "left to the rest of the machine"),
                        &o->budgets.reserves));
  t.push_back(SwitchFlag(Row(kWhere, "live", "", "what is free right now counts as well"),
                         &o->budgets.live));

  t.push_back(PinFlag(Row(kHow, "pin", "REGEX=ID", "tensors that must lie on a device"), &o->pins));
  t.push_back(
      SwitchFlag(Row(kHow, "cpu-moe", "", "the experts of all layers on the cpu"), &o->cpu_moe));
  Flag n_cpu_moe = Row(kHow, "n-cpu-moe", "N", "the experts of the first N layers on the cpu");
  n_cpu_moe.default_text = "none";
  t.push_back(IntegerFlag(std::move(n_cpu_moe), &o->n_cpu_moe, 1, 1 << 20));
  Flag slots = Row(kHow, "expert-slots", "N", "experts of a layer that a gpu holds at a time");
  slots.default_text = "all";
  t.push_back(IntegerFlag(std::move(slots), &o->expert_slots, 1, 1 << 20));
  t.push_back(ObjectiveFlag(
      Row(kHow, "objective", "NAME", "what must be fast: decode, prefill or balanced"),
      &o->objective));

  t.push_back(NameFlag(
      Row(kAnswer, "tensor", "NAME", "which tensor explain is about", kPlaceExplain), &o->tensor));
  t.push_back(NameFlag(Row(kAnswer, "svg", "FILE", "show: the memory map as a picture", kPlaceShow),
                       &o->svg));
  Flag out =
      NameFlag(Row(kAnswer, "out", "FILE", "the plan goes there, a table to stdout"), &o->out);
  out.letter = 'o';
  t.push_back(std::move(out));
  t.push_back(
      SwitchFlag(Row(kAnswer, "json", "", "JSON, the default when piped", kAnswers), &o->json));
  t.push_back(SwitchFlag(Row(kAnswer, "table", "", "a table, the default at a terminal", kAnswers),
                         &o->table));
  t.push_back(SwitchFlag(Row(kAnswer, "quiet", "", "no notes on stderr", ~0u), &o->quiet));
  t.push_back(ModeFlag(Row(kAnswer, "version", "", "the version", ~0u), o, kPlaceVersion));
  Flag help = Row(kAnswer, "help", "", "this text", ~0u);
  help.letter = 'h';
  t.push_back(ModeFlag(std::move(help), o, kPlaceHelp));
  return t;
}

Status ParsePlaceFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                       PlaceOptions* options) {
  std::vector<std::string_view> rest(args.begin(), args.end());
  for (const PlaceMode mode : {kPlaceExplain, kPlaceDiff, kPlaceShow}) {
    if (args.empty() || args[0] != ModeName(mode)) continue;
    options->mode = mode;
    rest.clear();
    VT_RETURN_IF_ERROR(TakePlans(table, args.subspan(1), rest, options));
  }
  // Help is an answer to anything.
  for (const std::string_view argument : rest) {
    if (argument == "--help" || argument == "-h") {
      options->mode = kPlaceHelp;
      return {};
    }
  }
  VT_ASSIGN_OR_RETURN(options->given, ParseFlags(table, rest));
  if (options->mode == kPlaceVersion) return {};
  return CheckRules(table, *options);
}

bool JsonWanted(const PlaceOptions& options) {
  if (options.mode == kPlaceHelp || options.mode == kPlaceVersion) return false;
  if (options.json || options.table) return options.json;
  if (!options.out.empty() && options.out != "-") return false;
  return isatty(STDOUT_FILENO) != 1;
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
