#include "base/near_names.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace vt {
namespace {

// A long name costs no more than one of this many characters.
constexpr std::size_t kLongest = 64;

// Optimal string alignment.
std::size_t Edits(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  // Rows of the table for a's first i letters, i - 1, i - 2.
  std::array<std::array<std::size_t, kLongest + 1>, 3> rows = {};
  auto &now = rows[0], &before = rows[1], &earlier = rows[2];
  for (std::size_t j = 0; j <= b.size(); ++j) now[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    earlier = std::exchange(before, now);
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], earlier[j - 2] + 1);
      }
    }
  }
  return now[b.size()];
}

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : names) {
    const std::size_t edits = Edits(name, candidate);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

std::string NearNames(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 3;
  const std::size_t limit = std::max<std::size_t>(2, std::min(name.size(), kLongest) / 2);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view candidate : names) {
    const std::size_t edits = Edits(name, candidate);
    if (edits <= limit) near.emplace_back(edits, candidate);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kMost) near.resize(kMost);
  std::string text;
  for (const auto& one : near) {
    text.append(text.empty() ? "\"" : ", \"").append(one.second).append("\"");
  }
  return text;
}

}  // namespace vt
