#include "base/size_text.h"

#include <cstdio>
#include <limits>

namespace vt {

std::string SizeText(std::uint64_t bytes) {
  constexpr struct {
    int shift;
    const char* format;
  } kUnits[] = {{40, "%.2f TiB"}, {30, "%.2f GiB"}, {20, "%.1f MiB"}, {10, "%.1f KiB"}};
  char text[40];
  for (const auto& unit : kUnits) {
    const std::uint64_t one = std::uint64_t{1} << unit.shift;
    if (bytes < one) continue;
    std::snprintf(text, sizeof text, unit.format,
                  static_cast<double>(bytes) / static_cast<double>(one));
    return text;
  }
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string SizeText(std::int64_t bytes) {
  if (bytes >= 0) return SizeText(static_cast<std::uint64_t>(bytes));
  return std::string("-").append(SizeText(std::uint64_t{0} - static_cast<std::uint64_t>(bytes)));
}

std::int64_t SignedDifference(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (a >= b) return static_cast<std::int64_t>(a - b < kMost ? a - b : kMost);
  return -static_cast<std::int64_t>(b - a < kMost ? b - a : kMost);
}

}  // namespace vt
