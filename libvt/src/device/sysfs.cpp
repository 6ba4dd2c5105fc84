#include "device/sysfs.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace vt {
namespace {

constexpr std::string_view kBlank = " \t\n";
// The highest number that a list of processors or nodes may name: far above any machine, and low
// enough that a damaged file cannot make us fill the memory.
constexpr std::uint64_t kMaxListed = 1u << 16;

std::string_view NextWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  text.resize(text.find_last_not_of(kBlank) + 1);
  return text;
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::string_view word; !(word = NextWord(text)).empty();) words.push_back(word);
  return words;
}

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ReadKilobytes(const std::string& path, std::string_view prefix,
                                           std::string_view key) {
  for (const std::string& line : ReadLines(path)) {
    std::string_view rest = line;
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    if (!rest.starts_with(key) || rest.substr(key.size(), 1) != ":") continue;
    rest.remove_prefix(key.size() + 1);
    const auto kib = ParseNumber(NextWord(rest));
    if (!kib || *kib > UINT64_MAX / 1024) break;
    return *kib * 1024;
  }
  return std::nullopt;
}

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(range.size() + 1, text.size()));
    const std::size_t dash = range.find('-');
    const auto first = ParseNumber(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseNumber(range.substr(dash + 1));
    if (!first || !last || *first > *last || *last > kMaxListed) return std::nullopt;
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::optional<std::vector<int>> ReadCpuList(const std::string& path) {
  const auto text = ReadText(path);
  return text ? ParseCpuList(*text) : std::nullopt;
}

}  // namespace vt
