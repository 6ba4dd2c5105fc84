// vt-bench run --golden: what is measured must answer as the golden says.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/model_prompts.h"
#include "vt/engine.h"

namespace vt::cli {

// Runs every case of the golden in an engine of these options. Empty when all are the same, else
// what differs. kInvalid: no golden, or one of another model.
Result<std::string> GoldenFailure(const std::string& path, const OpenedModel& model,
                                  const EngineOptions& options, Console& console);

}  // namespace vt::cli
