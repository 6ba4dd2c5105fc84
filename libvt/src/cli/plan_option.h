// --plan FILE: a run as a vt.plan/1 document says.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cli/run_options.h"
#include "place/plan_document.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt::cli {

// Reads the document (errors name it) and sets in `options` what it settles: the model where none
// was given, context, sequences, ubatch, KV type, threads, exactness, each with origin "plan".
// kNo: its fit says that it does not fit, unless options.force.
Result<PlanDocument> ReadPlanOption(RunOptions* options, const std::atomic<bool>& interrupted);

// Puts the plan's placement into `engine`. kInvalid: the plan is for another model, or this build
// would allocate other rows than the plan has. kNo: a device's rows pass its budget, unless
// `force`.
Status BindPlanOption(const GgufFile& file, const ModelSpec& spec, PlanDocument plan, bool force,
                      EngineOptions* engine);

}  // namespace vt::cli
