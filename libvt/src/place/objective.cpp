#include "base/json_writer.h"
#include "place/place.h"

namespace vt {
namespace {

constexpr std::string_view kNames[] = {"decode", "prefill", "balanced"};

}  // namespace

std::string_view NameOf(Objective objective) { return kNames[static_cast<std::size_t>(objective)]; }

Result<Objective> ParseObjective(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Objective>(i);
  }
  return InvalidError("objective \"" + ValidUtf8(name) +
                      "\": not known (decode, prefill, balanced)");
}

}  // namespace vt
