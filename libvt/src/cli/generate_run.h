// vt-run's main job: prompts through the engine, tokens out as they come.
#pragma once

#include <chrono>
#include <span>

#include "cli/console.h"
#include "cli/flags.h"
#include "cli/run_options.h"

namespace vt::cli {

// Everything from reading the prompts to the last record, in the order that finds mistakes before
// they cost anything: prompts, header, tokens, context, weights. Returns the exit code.
// `options` gets the values of settings that the model or the machine decides.
Result<int> RunGenerate(RunOptions* options, std::span<const Flag> table, Console& console);

}  // namespace vt::cli
