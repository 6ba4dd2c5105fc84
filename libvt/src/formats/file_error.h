// How readers of files word their errors: "path: what is wrong (seen, allowed); what to do".
#pragma once

#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt {

// "name" in double quotes. Bytes outside printable ASCII, quotes and backslashes become escapes
// (\n, \", \xE2), and what follows the first 80 bytes becomes "...".
std::string Quoted(std::string_view text);

// Errors with "path: " before the text and the path as place.
Status FileCorrupt(const std::string& path, const std::string& what);
Status FileUnsupported(const std::string& path, const std::string& what);

}  // namespace vt
