#include "cli/version.h"

namespace vt::cli {

std::string_view ToolVersion() { return VT_VERSION; }
std::string_view ToolCommit() { return VT_COMMIT; }

void WriteTool(JsonWriter& json) {
  json.Key("tool").BeginObject();
  json.Field("version", ToolVersion()).Field("commit", ToolCommit()).EndObject();
}

}  // namespace vt::cli
