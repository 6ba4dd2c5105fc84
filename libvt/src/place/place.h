// Placement: which device runs which part and holds which tensor, under budgets and pins, so that
// the predicted speed is highest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "place/budget.h"
#include "place/context_choice.h"
#include "place/cost_model.h"
#include "place/overhead.h"
#include "plan/memory_plan.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/placement.h"
#include "vt/status.h"

namespace vt {

enum class Objective { kDecode, kPrefill, kBalanced };
std::string_view NameOf(Objective objective);
Result<Objective> ParseObjective(std::string_view name);

// --pin 'REGEX=DEVICE': matrices whose names the pattern (PCRE2) finds lie on that device.
struct Pin {
  std::string pattern;
  std::string device;
  std::string text() const { return pattern + "=" + device; }
};

struct PlaceRequest {
  EngineOptions options;            // context, sequences, ubatch, kv_type, ..; no placement
  std::vector<DeviceInfo> devices;  // that may be used
  std::vector<Budget> budgets;      // of each
  std::vector<Pin> pins;
  bool cpu_moe = false;        // experts of all layers on the cpu
  std::int64_t n_cpu_moe = 0;  // experts of the first N layers that have some
  // Layers with more experts have so many of them on an accelerator at a time; 0: all.
  std::int64_t expert_slots = 0;
  Objective objective = Objective::kDecode;
  Calibration calibration;  // what runtimes take, as vt-fit counts it
  // Also of devices that a document describes: nothing is placed where an op of it has no kernel.
  // Without, such a plan comes with a note.
  bool strict_kernels = false;
};

// "REGEX=DEVICE": the last "=" divides. kInvalid: a part is missing.
Result<Pin> ParsePin(std::string_view text);

// Why a tensor lies where it does: the rule, or the pin.
struct PlaceAnswer {
  EnginePlan plan;  // with its placement
  Prediction prediction;
  bool exact = false;                // every placement was looked at or ruled out
  std::vector<std::string> reasons;  // by tensor; empty where it has no device
  std::vector<std::string> notes;    // "layer 3's experts would expand on hip:0: moved to cpu"
  // Only by paging: what the host maps of the file exceeds its budget.
  bool paging = false;
  std::optional<ContextChoice> chosen_context;  // of PlaceLargestContext
};

// kNo: nothing fits, with the device, the need, the budget and the deficit of the best that was
// tried; a pin that cannot be met is named first. kInvalid: pins that contradict each other or
// match nothing (with the nearest names), an unknown device. kUnsupported: an op that no device
// runs.
Result<PlaceAnswer> PlaceModel(const GgufFile& file, const ModelSpec& spec,
                               const PlaceRequest& request);

// The same with the largest context, from TrainedContext down in whole blocks, at which a placement
// fits every budget (or, where none does at any, fits by paging): at a block more PlaceModel finds
// none. The request's own context counts for nothing; the answer's plan has the one that was
// chosen. PlaceModel's errors; kNo is that of the smallest context.
Result<PlaceAnswer> PlaceLargestContext(const GgufFile& file, const ModelSpec& spec,
                                        const PlaceRequest& request);

}  // namespace vt
