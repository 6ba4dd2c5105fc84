#include "cli/run_settings.h"

#include <algorithm>
#include <limits>

#include "cli/flag_rows.h"
#include "place/context_choice.h"

namespace vt::cli {
namespace {

Flag ContextFlag(Flag row, RunSettings* settings) {
  row.apply = [=](std::string_view text) {
    settings->auto_context = text == "auto";
    if (settings->auto_context) return Status();
    VT_ASSIGN_OR_RETURN(settings->context,
                        ParseInteger(text, 1, std::numeric_limits<std::int32_t>::max()));
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

}  // namespace

std::uint64_t DefaultContext(const ModelSpec& spec) {
  return std::min(kDefaultContext, TrainedContext(spec));
}

EngineOptions EngineOptionsOf(const RunSettings& settings) {
  EngineOptions engine;
  if (settings.context > 0) engine.context = static_cast<std::uint64_t>(settings.context);
  engine.sequences = settings.sequences;
  engine.ubatch = settings.ubatch;
  engine.threads = static_cast<int>(settings.threads);
  if (const DTypeInfo* type = FindDType(settings.kv_type)) engine.kv_type = type->type;
  return engine;
}

void AddSettingFlags(std::vector<Flag>& t, std::string_view group, unsigned modes, RunSettings* s) {
  const auto row = [&](std::string_view name, std::string_view value, std::string_view doc) {
    return FlagRow(group, name, value, doc, modes);
  };
  t.push_back(ContextFlag(WithDefault("the model's, at most 4096",
                                      row("ctx", "N", "positions of a sequence; auto: what fits")),
                          s));
  t.push_back(IntegerFlag(row("sequences", "N", "that run at once"), &s->sequences, 1, 4096));
  t.push_back(IntegerFlag(row("ubatch", "N", "most tokens of one step"), &s->ubatch, 1, 65536));
  t.push_back(KvTypeFlag(row("kv-type", "TYPE", "f32, f16, bf16 or q8_0"), &s->kv_type));
  t.push_back(IntegerFlag(WithDefault("one per core", row("threads", "N", "of the cpu")),
                          &s->threads, 1, 1024));
}

void AddBudgetFlags(std::vector<Flag>& t, std::string_view group, unsigned modes,
                    BudgetOptions* budgets) {
  t.push_back(SizesFlag(
      FlagRow(group, "budget", "ID=SIZE,..", "what may be taken: cpu=16GiB,cuda:0=20GiB", modes),
      &budgets->given));
  t.push_back(
      SizesFlag(FlagRow(group, "reserve", "ID=SIZE,..", "left to the rest of the machine", modes),
                &budgets->reserves));
  t.push_back(SwitchFlag(FlagRow(group, "live", "", "what is free right now counts as well", modes),
                         &budgets->live));
}

}  // namespace vt::cli
