// vt-place from its arguments to its exit code.
#pragma once

#include <span>
#include <string_view>

namespace vt::cli {

// `args` are the arguments without the program's name. Reads stdin, writes stdout and stderr,
// installs signal handlers; returns the exit code.
int RunPlaceTool(std::span<const std::string_view> args);

}  // namespace vt::cli
