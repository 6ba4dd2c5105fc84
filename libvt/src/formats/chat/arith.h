// Python's arithmetic over template values, and numbers out of text.
#pragma once

#include <optional>
#include <string_view>

#include "formats/chat/value.h"

namespace vt::chat {

enum class Op : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kNegate,
  kPlus,
  kNot,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn,
};

// a op b for kAdd to kPow. Integers are 128 bits wide: beyond that is an error.
Value Arithmetic(Op op, const Value& a, const Value& b);
Value Negate(const Value& v);
Value Plus(const Value& v);
bool Compare(Op op, const Value& a, const Value& b);

// int(text, base) and float(text); nullopt where Python has a ValueError (or the value does not
// fit). Base 0 goes by the prefix.
std::optional<Int> ParseInt(std::string_view text, int base);
std::optional<double> ParseFloat(std::string_view text);
// int(d); nullopt for what has no integer value or does not fit.
std::optional<Int> Truncate(double d);
int DigitValue(char c);  // of 0-9, a-z, A-Z; 99 for the rest

// round(v, digits), half to even.
double RoundHalfEven(double v, int digits);

}  // namespace vt::chat
