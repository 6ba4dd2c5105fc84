#include "formats/chat/arith.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

#include "formats/chat/budget.h"
#include "formats/chat/compare.h"
#include "formats/chat/format.h"
#include "formats/chat/strings.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

const char* Symbol(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSub:
      return "-";
    case Op::kMul:
      return "*";
    case Op::kDiv:
      return "/";
    case Op::kFloorDiv:
      return "//";
    case Op::kMod:
      return "%";
    default:
      return "** or pow()";
  }
}

[[noreturn]] void FailTypes(Op op, const Value& a, const Value& b) {
  if (a.undefined()) FailUndefined(a);
  if (b.undefined()) FailUndefined(b);
  const bool concatenation =
      op == Op::kAdd && (a.is_string() || (a.is(Type::kSeq) && a.seq().kind <= SeqKind::kTuple));
  if (concatenation) {
    const std::string type = TypeName(a);
    Fail("can only concatenate " + type + " (not \"" + TypeName(b) + "\") to " + type);
  }
  Fail(std::string("unsupported operand type(s) for ") + Symbol(op) + ": '" + TypeName(a) +
       "' and '" + TypeName(b) + "'");
}

[[noreturn]] void FailOverflow() { Fail("integer result is out of range"); }

Int FloorDivide(Int a, Int b) {
  if (b == -1) {
    Int negated;
    if (__builtin_sub_overflow(Int{0}, a, &negated)) FailOverflow();
    return negated;
  }
  const Int quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

Int FloorModulo(Int a, Int b) {
  if (b == -1) return 0;
  const Int rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

double FloatModulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double FloatFloorDivide(double a, double b) {
  const double rest = FloatModulo(a, b);
  const double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Int IntPower(Int base, Int exponent) {
  Int result = 1;
  while (exponent > 0) {
    if (exponent & 1 && __builtin_mul_overflow(result, base, &result)) FailOverflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) {
      FailOverflow();
    }
  }
  return result;
}

Value Power(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral() && b.integer() >= 0) {
    const Int base = a.integer();
    if (base == 0 || base == 1) return Value::Integer(b.integer() == 0 ? 1 : base);
    if (base == -1) return Value::Integer(b.integer() % 2 == 0 ? 1 : -1);
    return Value::Integer(IntPower(base, b.integer()));
  }
  const double x = a.number();
  const double y = b.number();
  if (x == 0 && y < 0) Fail("0.0 cannot be raised to a negative power");
  if (x < 0 && y != std::floor(y) && std::isfinite(y)) Fail("the power is a complex number");
  const double result = std::pow(x, y);
  if (std::isinf(result) && std::isfinite(x) && std::isfinite(y)) {
    Fail("Numerical result out of range");
  }
  return Value::Float(result);
}

Value IntArithmetic(Op op, const Value& left, const Value& right) {
  const Int a = left.integer();
  const Int b = right.integer();
  Int result = 0;
  switch (op) {
    case Op::kAdd:
      if (__builtin_add_overflow(a, b, &result)) FailOverflow();
      return Value::Integer(result);
    case Op::kSub:
      if (__builtin_sub_overflow(a, b, &result)) FailOverflow();
      return Value::Integer(result);
    case Op::kMul:
      if (__builtin_mul_overflow(a, b, &result)) FailOverflow();
      return Value::Integer(result);
    case Op::kDiv:
      if (b == 0) Fail("division by zero");
      return Value::Float(
          static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case Op::kFloorDiv:
      if (b == 0) Fail("integer division or modulo by zero");
      return Value::Integer(FloorDivide(a, b));
    default:
      if (b == 0) Fail("integer modulo by zero");
      return Value::Integer(FloorModulo(a, b));
  }
}

Value FloatArithmetic(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return Value::Float(a + b);
    case Op::kSub:
      return Value::Float(a - b);
    case Op::kMul:
      return Value::Float(a * b);
    case Op::kDiv:
      if (b == 0) Fail("float division by zero");
      return Value::Float(a / b);
    case Op::kFloorDiv:
      if (b == 0) Fail("float floor division by zero");
      return Value::Float(FloatFloorDivide(a, b));
    default:
      if (b == 0) Fail("float modulo");
      return Value::Float(FloatModulo(a, b));
  }
}

Value ConcatStrings(const Value& a, const Value& b) {
  ChargeBytes(a.str().size() + b.str().size());
  if (!IsMarkup(a) && !IsMarkup(b)) return Value::String(a.str() + b.str());
  const auto escaped = [](const Value& v) { return IsMarkup(v) ? v.str() : EscapeHtml(v.str()); };
  return Value::Markup(escaped(a) + escaped(b));
}

Value Repeat(const Value& v, Int count) {
  const std::size_t size = v.is_string() ? v.str().size() : v.seq().items.size();
  const std::size_t limit = std::size_t{1} << 40;
  if (count <= 0 || size == 0) count = 0;
  const std::size_t times = count > static_cast<Int>(limit / (size + 1))
                                ? limit / (size + 1)
                                : static_cast<std::size_t>(count);
  if (v.is_string()) {
    ChargeBytes(size * times);
    std::string out;
    out.reserve(size * times);
    for (std::size_t i = 0; i < times; ++i) out += v.str();
    return IsMarkup(v) ? Value::Markup(std::move(out)) : Value::String(std::move(out));
  }
  ChargeSteps(size * times);
  std::vector<Value> out;
  out.reserve(size * times);
  for (std::size_t i = 0; i < times; ++i) {
    out.insert(out.end(), v.seq().items.begin(), v.seq().items.end());
  }
  return v.seq().kind == SeqKind::kList ? Value::List(std::move(out))
                                        : Value::Tuple(std::move(out));
}

bool IsListOrTuple(const Value& v) { return v.is(Type::kSeq) && v.seq().kind <= SeqKind::kGroup; }

std::string WithoutUnderscores(std::string_view text, bool& good) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
    } else if (i == 0 || i + 1 == text.size() || DigitValue(text[i + 1]) == 99 ||
               DigitValue(text[i - 1]) == 99) {
      good = false;
    }
  }
  return out;
}

}  // namespace

Value Arithmetic(Op op, const Value& a, const Value& b) {
  if (op == Op::kMod && a.is_string()) return PercentFormat(a, b);
  if (a.is_number() && b.is_number()) {
    if (op == Op::kPow) return Power(a, b);
    if (a.is_integral() && b.is_integral()) return IntArithmetic(op, a, b);
    return FloatArithmetic(op, a.number(), b.number());
  }
  if (op == Op::kAdd) {
    if (a.is_string() && b.is_string()) return ConcatStrings(a, b);
    if (IsListOrTuple(a) && IsListOrTuple(b) &&
        (a.seq().kind == SeqKind::kList) == (b.seq().kind == SeqKind::kList)) {
      ChargeSteps(a.seq().items.size() + b.seq().items.size());
      std::vector<Value> out = a.seq().items;
      out.insert(out.end(), b.seq().items.begin(), b.seq().items.end());
      return a.seq().kind == SeqKind::kList ? Value::List(std::move(out))
                                            : Value::Tuple(std::move(out));
    }
  }
  if (op == Op::kMul) {
    if ((a.is_string() || IsListOrTuple(a)) && b.is_integral()) return Repeat(a, b.integer());
    if ((b.is_string() || IsListOrTuple(b)) && a.is_integral()) return Repeat(b, a.integer());
  }
  FailTypes(op, a, b);
}

Value Negate(const Value& v) {
  if (v.undefined()) FailUndefined(v);
  if (v.is(Type::kFloat)) return Value::Float(-v.number());
  if (!v.is_integral()) Fail(std::string("bad operand type for unary -: '") + TypeName(v) + "'");
  Int result = 0;
  if (__builtin_sub_overflow(Int{0}, v.integer(), &result)) FailOverflow();
  return Value::Integer(result);
}

Value Plus(const Value& v) {
  if (v.undefined()) FailUndefined(v);
  if (v.is(Type::kFloat)) return v;
  if (!v.is_integral()) Fail(std::string("bad operand type for unary +: '") + TypeName(v) + "'");
  return Value::Integer(v.integer());
}

bool Compare(Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::kEq:
      return Equal(a, b);
    case Op::kNe:
      return !Equal(a, b);
    case Op::kLt:
      return Ordered(Order::kLess, a, b);
    case Op::kLe:
      return Ordered(Order::kLessEqual, a, b);
    case Op::kGt:
      return Ordered(Order::kGreater, a, b);
    case Op::kGe:
      return Ordered(Order::kGreaterEqual, a, b);
    case Op::kIn:
      return Contains(b, a);
    default:
      return !Contains(b, a);
  }
}

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

std::optional<Int> ParseInt(std::string_view text, int base) {
  text = StripLeft(StripRight(text));
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int prefix = 0;
  if (text.size() > 1 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  }
  if (prefix != 0 && (base == prefix || base == 0)) {
    base = prefix;
    text.remove_prefix(2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
  } else if (base == 0) {
    if (text.size() > 1 && text[0] == '0' &&
        text.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;
    }
    base = 10;
  }
  if (base < 2 || base > 36) return std::nullopt;
  bool good = !text.empty();
  Int value = 0;
  for (const char c : WithoutUnderscores(text, good)) {
    const int digit = DigitValue(c);
    if (digit >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, Int{base}, &value) ||
        __builtin_sub_overflow(value, Int{digit}, &value)) {
      return std::nullopt;
    }
  }
  if (!good) return std::nullopt;
  if (!negative && __builtin_sub_overflow(Int{0}, value, &value)) return std::nullopt;
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  text = StripLeft(StripRight(text));
  bool good = true;
  const std::string digits = WithoutUnderscores(text, good);
  std::string lower = ToLower(digits);
  if (!lower.empty() && (lower[0] == '-' || lower[0] == '+')) lower.erase(0, 1);
  const bool word = lower == "inf" || lower == "infinity" || lower == "nan";
  if (!good || digits.empty() ||
      (!word && digits.find_first_not_of("0123456789+-.eE") != std::string::npos)) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  return value;
}

std::optional<Int> Truncate(double d) {
  constexpr double kLimit = 1.7e38;
  if (!(std::fabs(d) < kLimit)) return std::nullopt;
  return static_cast<Int>(d);
}

double RoundHalfEven(double v, int digits) {
  constexpr int kMaxDigits = 330;
  if (!std::isfinite(v) || digits > kMaxDigits) return v;
  if (digits < -kMaxDigits) return std::copysign(0.0, v);
  if (digits >= 0) {
    // printf rounds the exact binary value, as Python does.
    char buffer[800];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, v);
    return std::strtod(buffer, nullptr);
  }
  const double scale = std::pow(10.0, -digits);
  const double scaled = v / scale;
  double rounded = std::round(scaled);
  if (std::fabs(scaled - rounded) == 0.5) rounded = 2.0 * std::round(scaled / 2.0);
  return rounded * scale;
}

}  // namespace vt::chat
