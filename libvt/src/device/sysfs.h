// Reading the small text files of /proc, /sys and the cgroup trees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vt {

// The file's text without trailing white space; nothing when it cannot be read.
std::optional<std::string> ReadText(const std::string& path);
std::vector<std::string> ReadLines(const std::string& path);

// The words between runs of spaces and tabs.
std::vector<std::string_view> Words(std::string_view text);

// A whole number of digits alone: "max", "-1" and "12k" are none.
std::optional<std::uint64_t> ParseNumber(std::string_view text);

// The number of kB after "<key>:" in a file of such lines, in bytes; lines may begin with `prefix`
// ("Node 0 MemTotal:  10971340 kB").
std::optional<std::uint64_t> ReadKilobytes(const std::string& path, std::string_view prefix,
                                           std::string_view key);

// "0-3,8" as 0 1 2 3 8: ascending, each once. Nothing when the text is not such a list; an empty
// text is an empty list.
std::optional<std::vector<int>> ParseCpuList(std::string_view text);
std::optional<std::vector<int>> ReadCpuList(const std::string& path);

}  // namespace vt
