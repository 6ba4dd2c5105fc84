// Settings of a run: what every tool takes where nothing is said, and the flags of the tools that
// plan a run without starting it (vt-fit, vt-place).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "place/budget.h"
#include "vt/engine.h"
#include "vt/model_spec.h"

namespace vt::cli {

inline constexpr std::uint64_t kDefaultContext = 4096;
// The context where none is asked for: what the model was trained for, at most kDefaultContext.
std::uint64_t DefaultContext(const ModelSpec& spec);

struct RunSettings {
  std::int64_t context = 0;   // 0: DefaultContext
  bool auto_context = false;  // what fits
  std::int64_t sequences = 1;
  std::int64_t ubatch = 512;
  std::int64_t threads = 0;  // 0: one per core
  std::string kv_type = "f16";
};

// With the engine's own context where `settings` have none.
EngineOptions EngineOptionsOf(const RunSettings& settings);

// --ctx (a number or "auto"), --sequences, --ubatch, --kv-type and --threads.
void AddSettingFlags(std::vector<Flag>& table, std::string_view group, unsigned modes,
                     RunSettings* settings);
// --budget, --reserve and --live.
void AddBudgetFlags(std::vector<Flag>& table, std::string_view group, unsigned modes,
                    BudgetOptions* budgets);

}  // namespace vt::cli
