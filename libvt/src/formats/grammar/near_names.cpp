#include "formats/grammar/near_names.h"

#include <algorithm>
#include <vector>

namespace vt::grammar {
namespace {

// Levenshtein's distance.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearNames(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kLongest = 64;
  constexpr std::size_t kMost = 3;
  name = name.substr(0, kLongest);
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 2);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view candidate : names) {
    const std::size_t distance = Distance(name, candidate.substr(0, kLongest));
    if (distance <= limit) near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kMost) near.resize(kMost);
  std::string text;
  for (const auto& [distance, candidate] : near) {
    text += (text.empty() ? "\"" : ", \"") + std::string(candidate) + "\"";
  }
  return text;
}

}  // namespace vt::grammar
