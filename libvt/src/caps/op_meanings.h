// What each op computes, in a line.
#pragma once

#include <string_view>

namespace vt {

// Empty for a name that is no op.
std::string_view MeaningOf(std::string_view op);

}  // namespace vt
