#include "cli/plan_option.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/json_writer.h"
#include "plan/memory_plan.h"

namespace vt::cli {
namespace {

using RowKey = std::pair<std::string, std::string>;  // device, row

std::map<RowKey, std::uint64_t> ByName(const std::vector<MemoryRow>& rows) {
  std::map<RowKey, std::uint64_t> bytes;
  for (const MemoryRow& row : rows) bytes[{row.device, row.row}] += row.predicted_bytes;
  return bytes;
}

std::uint64_t BytesOf(const std::map<RowKey, std::uint64_t>& rows, const RowKey& key) {
  const auto found = rows.find(key);
  return found == rows.end() ? 0 : found->second;
}

// The estimate is the allocation: a plan whose rows this build would not allocate is refused.
Status CheckRows(const PlanDocument& plan, const std::vector<MemoryRow>& rows) {
  const std::map<RowKey, std::uint64_t> planned = ByName(plan.rows);
  const std::map<RowKey, std::uint64_t> needed = ByName(rows);
  for (const auto* side : {&planned, &needed}) {
    for (const auto& row : *side) {
      const RowKey& key = row.first;
      const std::uint64_t before = BytesOf(planned, key), now = BytesOf(needed, key);
      if (before == now) continue;
      return InvalidError("plan: memory row \"" + key.second + "\" on device " + key.first +
                          ": the plan has " + std::to_string(before) + " bytes, this build needs " +
                          std::to_string(now) + "; make the plan anew with vt-place");
    }
  }
  return {};
}

Status CheckBudgets(const PlanDocument& plan, const std::vector<MemoryRow>& rows) {
  for (const Budget& budget : plan.budgets) {
    if (!budget.bytes) continue;
    std::uint64_t need = 0;
    for (const MemoryRow& row : rows) {
      if (row.device == budget.device && row.how != "mapped") need += row.predicted_bytes;
    }
    if (need <= *budget.bytes) continue;
    return {Code::kNo, "plan: device " + budget.device + " needs " + std::to_string(need) +
                           " bytes, its budget is " + std::to_string(*budget.bytes) + " (" +
                           budget.source + "), " + std::to_string(need - *budget.bytes) +
                           " too few; plan with less (vt-fit tells how), or --force"};
  }
  return {};
}

void Settle(RunOptions* options, std::string_view flag) { options->origins[flag] = "plan"; }

}  // namespace

Result<PlanDocument> ReadPlanOption(RunOptions* options, const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(options->plan, interrupted));
  const std::string subject = options->plan == "-" ? "plan on stdin" : ValidUtf8(options->plan);
  Result<PlanDocument> plan = ReadPlanDocument(text);
  if (!plan.ok()) return plan.status().Annotate(subject);
  if (plan->fits && !*plan->fits && !options->force) {
    return Status(Code::kNo, subject + ": its fit says \"" + plan->verdict.value_or("no") +
                                 "\"; vt-fit tells what would help, --force runs it all the same");
  }
  const EngineOptions& engine = plan->options;
  if (options->model.empty()) {
    options->model = plan->model.path;
    Settle(options, "model");
  }
  options->context = static_cast<std::int64_t>(engine.context);
  options->sequences = engine.sequences;
  options->ubatch = engine.ubatch;
  options->kv_type = std::string(NameOf(engine.kv_type));
  options->threads = engine.threads;
  options->exact = engine.exact;
  for (const std::string_view flag :
       {"ctx", "sequences", "ubatch", "kv-type", "threads", "exact", "device"}) {
    Settle(options, flag);
  }
  std::string devices;
  for (const std::string& id : engine.placement->devices) {
    devices += (devices.empty() ? "" : ",") + id;
  }
  options->device = devices;
  options->plan_hash = plan->hash;
  return plan;
}

Status BindPlanOption(const GgufFile& file, const ModelSpec& spec, PlanDocument plan, bool force,
                      EngineOptions* engine) {
  VT_RETURN_IF_ERROR(BindPlan(file, spec, plan));
  engine->placement = plan.options.placement;
  // More rows of logits than the plan has (a draft, a dump) are a setting of this run.
  const bool same_settings =
      engine->logit_rows == 0 || engine->logit_rows == plan.options.logit_rows;
  if (same_settings) engine->logit_rows = plan.options.logit_rows;
  VT_ASSIGN_OR_RETURN(const std::vector<MemoryRow> rows, PlanMemory(file, spec, *engine));
  if (same_settings) VT_RETURN_IF_ERROR(CheckRows(plan, rows));
  return force ? Status() : CheckBudgets(plan, rows);
}

}  // namespace vt::cli
