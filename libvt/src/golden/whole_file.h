// Text files that are there whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt {

// Writes under a temporary name beside `path` and renames. kInvalid when it cannot be made (or is
// there and no plain file), kDevice when it cannot be written; then nothing is left behind.
Status WriteWholeFile(const std::string& path, std::string_view text);

}  // namespace vt
