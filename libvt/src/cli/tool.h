// A tool from its arguments to its exit code: what all of them do alike.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "cli/console.h"
#include "vt/status.h"

namespace vt::cli {

// What the arguments say before anything is done.
struct ToolStart {
  Status parsed;       // not ok: that is the answer
  bool json = false;   // failures are documents, for whoever reads documents
  bool quiet = false;  // no notes on stderr
};

// Installs the signal handlers, has `parse` read the arguments, and then `run` answer on the
// console. Returns the exit code: what `run` says, that of an error, which is reported, or 0 where
// the reader of stdout went away. `args` are those that `parse` reads: as it may stop at a wrong
// one, a --json anywhere among them counts.
int ToolMain(std::string_view tool, std::span<const std::string_view> args,
             const std::function<ToolStart()>& parse,
             const std::function<Result<int>(Console&)>& run);

// For `run`: writes a text that is the whole answer. Gives 0.
Result<int> WriteAnswer(Console& console, std::string_view text);

}  // namespace vt::cli
