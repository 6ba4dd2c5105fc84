// Names that somebody may have meant. Edits are insertions, deletions, substitutions and swaps of
// neighbours.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vt {

// The name in `names` with the fewest edits to `name` (the first on ties).
std::string_view NearestName(std::string_view name, std::span<const std::string_view> names);

// `"number", "num"`: up to three of `names` that are few edits away from `name`, nearest first;
// empty when there is none.
std::string NearNames(std::string_view name, std::span<const std::string_view> names);

}  // namespace vt
