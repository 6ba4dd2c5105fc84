// --dump-tokens and --dump-prompt: what becomes of a prompt before a model sees it.
#pragma once

#include <atomic>

#include "cli/console.h"
#include "cli/run_options.h"
#include "vt/status.h"

namespace vt::cli {

// Writes {"tokens", "pieces"} of the prompt, or a line each with --jsonl; or the rendered text as
// it is, or {"prompt"} lines. The code is 2 when a --jsonl line was wrong, which is a line with its
// error; other failures are errors.
Result<int> DumpPrompts(const RunOptions& options, Console& console,
                        const std::atomic<bool>& interrupted);

}  // namespace vt::cli
