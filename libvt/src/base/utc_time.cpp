#include "base/utc_time.h"

#include <ctime>

namespace vt {

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string UtcToday() { return UtcNow().substr(0, 10); }

}  // namespace vt
