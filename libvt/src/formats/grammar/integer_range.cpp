#include "formats/grammar/integer_range.h"

#include <algorithm>
#include <vector>

namespace vt::grammar {
namespace {

constexpr std::size_t kOpenDigits = 16;

std::string DigitClass(char first, char last) {
  if (first == last) return std::string("\"") + first + "\"";
  if (last == first + 1) return std::string("[") + first + last + "]";
  return std::string("[") + first + "-" + last + "]";
}

std::string AnyDigits(std::size_t count) {
  if (count == 0) return "";
  return count == 1 ? " [0-9]" : " [0-9]{" + std::to_string(count) + "}";
}

bool IsAll(std::string_view digits, char digit) {
  return digits.find_first_not_of(digit) == std::string_view::npos;
}

std::string Joined(const std::vector<std::string>& choices) {
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : " | ") + choice;
  return text;
}

// Numbers of as many digits as both ends have, from one to the other.
std::string SameLength(std::string_view low, std::string_view high) {
  const std::size_t rest = low.size() - 1;
  if (rest == 0) return DigitClass(low[0], high[0]);
  const std::string_view low_rest = low.substr(1), high_rest = high.substr(1);
  if (low[0] == high[0]) {
    return DigitClass(low[0], low[0]) + " (" + SameLength(low_rest, high_rest) + ")";
  }
  char first = low[0], last = high[0];
  std::vector<std::string> choices;
  std::string at_end;
  if (!IsAll(low_rest, '0')) {
    choices.push_back(DigitClass(first, first) + " (" +
                      SameLength(low_rest, std::string(rest, '9')) + ")");
    ++first;
  }
  if (!IsAll(high_rest, '9')) {
    at_end = DigitClass(last, last) + " (" + SameLength(std::string(rest, '0'), high_rest) + ")";
    --last;
  }
  if (first <= last) choices.push_back(DigitClass(first, last) + AnyDigits(rest));
  if (!at_end.empty()) choices.push_back(at_end);
  return Joined(choices);
}

// From `low` to `high`, or (high empty) to the longest number there is.
std::vector<std::string> Positive(std::string_view low, std::string_view high) {
  std::vector<std::string> choices;
  const std::size_t longest = high.empty() ? std::max(kOpenDigits, low.size()) : high.size();
  for (std::size_t digits = low.size(); digits <= longest; ++digits) {
    const bool from_first = digits > low.size() || low == "1" + std::string(digits - 1, '0');
    const bool to_last = digits < longest || high.empty();
    if (from_first && to_last && digits < longest) {
      // All lengths that need no care, at once.
      const std::size_t until = high.empty() ? longest : longest - 1;
      choices.push_back("[1-9] [0-9]{" + std::to_string(digits - 1) + "," +
                        std::to_string(until - 1) + "}");
      digits = until;
      continue;
    }
    const std::string first = from_first ? "1" + std::string(digits - 1, '0') : std::string(low);
    const std::string last = to_last ? std::string(digits, '9') : std::string(high);
    choices.push_back(SameLength(first, last));
  }
  return choices;
}

// The digits of a number that may be the lowest there is.
std::string Digits(std::int64_t value) {
  const std::string text = std::to_string(value);
  return value < 0 ? text.substr(1) : text;
}

}  // namespace

std::string IntegerRange(std::optional<std::int64_t> lowest, std::optional<std::int64_t> highest) {
  std::vector<std::string> choices;
  if (!lowest || *lowest < 0) {
    // -high .. -low, of those below zero.
    const std::string low = highest && *highest < 0 ? Digits(*highest) : "1";
    const std::vector<std::string> negative =
        Positive(low, lowest ? Digits(*lowest) : std::string());
    choices.push_back("\"-\" (" + Joined(negative) + ")");
  }
  if ((!lowest || *lowest <= 0) && (!highest || *highest >= 0)) choices.push_back("\"0\"");
  if (!highest || *highest > 0) {
    const std::string low = lowest && *lowest > 0 ? Digits(*lowest) : "1";
    for (std::string& choice : Positive(low, highest ? Digits(*highest) : std::string())) {
      choices.push_back(std::move(choice));
    }
  }
  return "(" + Joined(choices) + ")";
}

}  // namespace vt::grammar
