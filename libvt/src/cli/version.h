// The version and commit of this build, as every document names them.
#pragma once

#include <string_view>

#include "base/json_writer.h"

namespace vt::cli {

std::string_view ToolVersion();  // "0.1.0"
std::string_view ToolCommit();   // "abc1234", or "unknown" when built outside a git checkout

// "tool": {"version", "commit"}
void WriteTool(JsonWriter& json);

}  // namespace vt::cli
