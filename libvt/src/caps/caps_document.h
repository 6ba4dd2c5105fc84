// A report as a vt.caps/1 document (docs/json/vt.caps.md) and back.
#pragma once

#include <string_view>

#include "base/json_writer.h"
#include "caps/caps_report.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::string_view kCapsSchema = "vt.caps/1";

// The members of the document after "schema" and "tool".
void WriteCapsBody(const CapsReport& report, JsonWriter& json);

// Unknown keys are ignored, and names that this build does not know (of features, types) left out;
// kInvalid, at() a JSON pointer, for another schema, a wrong type or a missing id. Every device is
// described, with the rows that were usable there.
Result<CapsReport> ParseCapsDocument(std::string_view json);

}  // namespace vt
