// --grammar and --json-schema.
#pragma once

#include <atomic>
#include <optional>

#include "cli/run_options.h"
#include "vt/grammar.h"
#include "vt/status.h"

namespace vt::cli {

// The grammar that the options ask for; nullopt: none. A grammar is taken for one, rather than for
// a file's name, when it has "::=" in it, a schema when it starts with "{" or is true or false.
// kInvalid, kNotFound: the flag, then what is wrong.
Result<std::optional<Grammar>> ReadGrammar(const RunOptions& options,
                                           const std::atomic<bool>& interrupted);

}  // namespace vt::cli
