// The time of day for documents.
#pragma once

#include <string>

namespace vt {

// "2026-01-31T23:59:59Z", of ISO 8601.
std::string UtcNow();
// "2026-01-31".
std::string UtcToday();

}  // namespace vt
