// The verdict on a plan: whether what the planner adds up fits the budgets, device by device.
//
// Goal: the numbers are those of the planner that the engine allocates by, and the same question
// has the same answer: nothing that changes from run to run decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "place/budget.h"
#include "place/context_choice.h"
#include "place/fit_beside.h"
#include "place/fit_file.h"
#include "place/overhead.h"
#include "plan/memory_plan.h"
#include "vt/device.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

enum class FitVerdict {
  kFits,
  kFitsByPaging,  // pages of the file that the host maps do not all fit; all else does
  kDoesNotFit,
  kCannotTell,  // Fit::missing says why
};
std::string_view NameOf(FitVerdict verdict);  // "fits", "fits_by_paging", ..
Code CodeOf(FitVerdict verdict);              // kOk, kNo, kNo, kUnsupported

struct FitRow {
  std::string row;  // of the memory plan, "draft", "mmproj", "runtime", "margin"
  std::uint64_t bytes = 0;
  // "mapped", "uploaded", "copied", "decoded", "allocated", "assumed for cuda", ..
  std::string how;
  std::optional<std::uint64_t> disk_bytes;  // of weights: in the file
};

struct DeviceFit {
  std::string id;
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;
  bool used = false;    // false: no part of the model; the host's share of a run elsewhere
  bool beside = false;  // what runs beside the model is here
  std::vector<FitRow> rows;
  std::uint64_t need_bytes = 0;    // of all rows
  std::uint64_t mapped_bytes = 0;  // of them, pages of the file
  FitRow largest;                  // the largest single allocation
  Budget budget;
  std::optional<std::int64_t> left_bytes;  // of the budget; negative: that much is missing
  // Matrices that the placement took elsewhere.
  std::uint64_t taken_out_tensors = 0;
  std::uint64_t taken_out_bytes = 0;  // in the file
};

// Devices that share the host's memory, and the host.
struct PoolFit {
  std::vector<std::string> devices;
  std::uint64_t need_bytes = 0;
  std::uint64_t mapped_bytes = 0;
  std::optional<std::uint64_t> budget_bytes;  // the host's
  std::optional<std::int64_t> left_bytes;
};

struct FitWarning {
  // "live_memory_short", "budget_above_total", "context_beyond_trained", "projector_not_run"
  std::string_view code;
  std::string device;  // empty: of no device
  std::string message;
};

// A change that the planner has tried, after which the verdict is `verdict`.
struct Remedy {
  // "draft_on_cpu", "mmproj_on_cpu", "context", "kv_type", "ubatch", "experts_on_cpu", "device",
  // "several"
  std::string_view kind;
  std::string device;         // of kind device
  std::string draft_device;   // where the draft goes then; empty: where it was
  std::string mmproj_device;  // the projector
  std::uint64_t context = 0;
  DType kv_type = DType::kF16;
  std::int64_t ubatch = 0;
  std::int64_t expert_layers = 0;  // of kind experts_on_cpu
  FitVerdict verdict = FitVerdict::kFits;
  std::string where;             // the device that was short
  std::uint64_t need_bytes = 0;  // there, now
  std::int64_t saved_bytes = 0;  // there
};

struct Fit {
  FitVerdict verdict = FitVerdict::kCannotTell;
  EngineOptions options;  // as judged, with defaults filled in
  std::vector<DeviceFit> devices;
  std::vector<PoolFit> pools;
  std::string draft_device;   // empty: there is none
  std::string mmproj_device;  // the projector's; empty: there is none
  // What is missing where it is scarcest: a device, or the devices of a pool joined by "+".
  // Negative: that much is left. None: no budget is known.
  std::optional<std::int64_t> deficit_bytes;
  std::string deficit_where;
  MappedReads reads;                         // of the host
  std::optional<std::uint64_t> paged_bytes;  // per token, of kFitsByPaging
  FileAccount file;
  std::optional<ContextChoice> chosen_context;  // --ctx auto
  std::vector<FitWarning> warnings;
  std::vector<Remedy> remedies;
  std::vector<std::string> missing;  // of kCannotTell
  bool yes() const { return verdict == FitVerdict::kFits; }
};

// What is asked: a model's options on devices with their budgets.
struct FitRequest {
  EngineOptions options;            // device or placement
  std::vector<DeviceInfo> devices;  // of the machine: at least those that the options name
  std::vector<Budget> budgets;      // of each
  Calibration calibration;
  FitBeside beside = {};
};

// The plan of the request with other options: of its placement, or of everything on one device,
// where what it does not keep is decoded. With a draft, of a model that checks its guesses.
// kNotFound: a device that is not listed; MakePlan's errors.
Result<EnginePlan> PlanToFit(const GgufFile& file, const ModelSpec& spec, const FitRequest& request,
                             const EngineOptions& options);

// The plan of the request's draft model beside a model's; none: there is no draft. Errors begin
// with "draft model: ".
Result<std::optional<EnginePlan>> PlanDraft(const FitRequest& request, const EnginePlan& plan);

// Verdict, rows and needs alone; `remedies`, `warnings` and `file` are left empty. `draft`: what
// PlanDraft said.
Fit JudgePlan(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan,
              const FitRequest& request, const EnginePlan* draft = nullptr);

// The same of all plans of the request with other options.
Result<Fit> JudgeOptions(const GgufFile& file, const ModelSpec& spec, const FitRequest& request,
                         const EngineOptions& options);

// The whole answer: with the file's account, warnings and, where it does not fit, remedies.
Result<Fit> JudgeFit(const GgufFile& file, const ModelSpec& spec, const FitRequest& request);

// The answer where the model is not known: `why` is what ReadModelSpec said.
Fit CannotTell(const EngineOptions& options, std::string why);

// The need of a device or a pool, called as in `Fit::deficit_where`; 0: there is none.
std::uint64_t NeedAt(const Fit& fit, std::string_view where);

}  // namespace vt
