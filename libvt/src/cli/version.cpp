#include "cli/version.h"

namespace vt::cli {

std::string_view ToolVersion() { return VT_VERSION; }
std::string_view ToolCommit() { return VT_COMMIT; }

std::string VersionText(std::string_view tool) {
  return std::string(tool) + " " + std::string(ToolVersion()) + " (" + std::string(ToolCommit()) +
         ")\n";
}

void WriteTool(JsonWriter& json) {
  json.Key("tool").BeginObject();
  json.Field("version", ToolVersion()).Field("commit", ToolCommit()).EndObject();
}

}  // namespace vt::cli
