// Names that somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vt::grammar {

// `"number", "num"`: up to three of `names` that differ from `name` by few letters, nearest first;
// empty when there is none.
std::string NearNames(std::string_view name, std::span<const std::string_view> names);

}  // namespace vt::grammar
