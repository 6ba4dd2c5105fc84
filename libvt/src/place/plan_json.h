// The canonical text of JSON: keys in the order in which they stand, no blanks, numbers in their
// shortest form. Text that JsonWriter wrote is canonical.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace vt {

// Without the members of the outermost object that `leave_out` names.
std::string CanonicalJson(const nlohmann::ordered_json& json,
                          std::initializer_list<std::string_view> leave_out = {});

// "xxh3-128:<32 hex>" of a text.
std::string TextHash(std::string_view text);

}  // namespace vt
