// The version and commit of this build, as every document names them.
#pragma once

#include <string>
#include <string_view>

#include "base/json_writer.h"

namespace vt::cli {

std::string_view ToolVersion();  // "0.1.0"
std::string_view ToolCommit();   // "abc1234", or "unknown" when built outside a git checkout

// "vt-fit 0.1.0 (abc1234)\n": the answer to --version.
std::string VersionText(std::string_view tool);

// "tool": {"version", "commit"}
void WriteTool(JsonWriter& json);

}  // namespace vt::cli
