// Hash of names that come from files, seeded per process so that a file cannot be built to collide.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

namespace vt {

struct NameHash {
  std::size_t operator()(std::string_view name) const;
};

// Names must outlive the map.
using NameIndex = std::unordered_map<std::string_view, std::size_t, NameHash>;

}  // namespace vt
