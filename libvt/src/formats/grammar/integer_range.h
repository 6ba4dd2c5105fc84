// GBNF for the decimal forms of a range of integers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vt::grammar {

// An expression in parentheses for the integers from `lowest` to `highest` without leading zeros or
// a minus before 0. An end that is open goes to the longest number of 16 digits (or of as many
// digits as the other end has, where that is more). lowest <= highest.
std::string IntegerRange(std::optional<std::int64_t> lowest, std::optional<std::int64_t> highest);

}  // namespace vt::grammar
