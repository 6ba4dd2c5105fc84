#include "formats/chat/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "formats/chat/arith.h"
#include "formats/chat/budget.h"
#include "formats/chat/print.h"
#include "formats/chat/strings.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

constexpr int kMaxPrecision = 10000;
constexpr std::size_t kMaxWidth = std::size_t{1} << 24;

std::size_t ReadNumber(std::string_view& text, const char* what) {
  std::size_t value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value = value * 10 + static_cast<std::size_t>(text[0] - '0');
    if (value > kMaxWidth) Fail(std::string("Too large a ") + what + " in format string");
    text.remove_prefix(1);
  }
  return value;
}

bool IsAlign(char32_t c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// Lays out sign, prefix and digits; `digits` may go on with a fraction.
std::string LayOutNumber(const std::string& sign, std::string digits, const FormatSpec& spec) {
  const bool hex = spec.type == 'x' || spec.type == 'X';
  const std::size_t whole = std::min(
      digits.find_first_not_of(hex ? "0123456789abcdefABCDEF" : "0123456789"), digits.size());
  std::string fraction = digits.substr(whole);
  digits.resize(whole);
  const char align = spec.align ? spec.align : spec.zero ? '=' : '>';
  const std::string fill = !spec.fill.empty() ? spec.fill : spec.zero ? "0" : " ";
  if (spec.grouping) {
    const bool fours = spec.type == 'b' || spec.type == 'o' || spec.type == 'x' || spec.type == 'X';
    const std::size_t group = fours ? 4 : 3;
    const std::size_t taken = sign.size() + fraction.size();
    if (align == '=' && fill == "0" && spec.width > taken) {
      const std::size_t room = spec.width - taken;
      const std::size_t fit = room - room / (group + 1);
      if (digits.size() < fit) digits.insert(0, fit - digits.size(), '0');
    }
    std::string grouped;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (i > 0 && (digits.size() - i) % group == 0) grouped.push_back(spec.grouping);
      grouped.push_back(digits[i]);
    }
    digits = std::move(grouped);
  }
  digits += fraction;
  const std::size_t size = sign.size() + digits.size();
  const std::size_t room = spec.width > size ? spec.width - size : 0;
  if (align == '=') return sign + Pad(digits, room, 0, fill);
  const std::size_t left = align == '>' ? room : align == '^' ? room / 2 : 0;
  return Pad(sign + digits, left, room - left, fill);
}

std::string SignOf(bool negative, const FormatSpec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string Printf(double d, char type, int precision, bool alternate) {
  const std::string format = std::string("%") + (alternate ? "#" : "") + ".*" + type;
  std::vector<char> buffer(static_cast<std::size_t>(precision) + 400);
  const int size = std::snprintf(buffer.data(), buffer.size(), format.c_str(), precision, d);
  return std::string(buffer.data(), static_cast<std::size_t>(size));
}

}  // namespace

FormatSpec ParseFormatSpec(std::string_view text) {
  FormatSpec spec;
  if (!text.empty()) {
    const std::size_t bytes = DecodeAt(text, 0).bytes;
    if (text.size() > bytes && IsAlign(static_cast<unsigned char>(text[bytes]))) {
      spec.fill = text.substr(0, bytes);
      spec.align = text[bytes];
      text.remove_prefix(bytes + 1);
    } else if (IsAlign(static_cast<unsigned char>(text[0]))) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
  }
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == std::string_view::npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  if (const char sign = take("+- ")) spec.sign = sign;
  spec.alternate = take("#") != 0;
  spec.zero = take("0") != 0;
  spec.width = ReadNumber(text, "width");
  spec.grouping = take(",_");
  if (take(".")) {
    if (text.empty() || text[0] < '0' || text[0] > '9') Fail("Format specifier missing precision");
    spec.precision = static_cast<int>(ReadNumber(text, "precision"));
    if (spec.precision > kMaxPrecision) Fail("precision too big");
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) Fail("Invalid format specifier");
  return spec;
}

std::string FormatText(std::string_view text, const FormatSpec& spec) {
  if (spec.precision >= 0) {
    text = text.substr(0, ByteOffset(text, static_cast<std::size_t>(spec.precision)));
  }
  const std::size_t size = CountChars(text);
  const std::size_t room = spec.width > size ? spec.width - size : 0;
  const char align = spec.align ? spec.align : '<';
  const std::size_t left = align == '>' ? room : align == '^' ? room / 2 : 0;
  const std::string fill = !spec.fill.empty() ? spec.fill : spec.zero ? "0" : " ";
  return Pad(text, left, room - left, fill);
}

std::string FormatInteger(Int i, const FormatSpec& spec) {
  const int base = spec.type == 'b'   ? 2
                   : spec.type == 'o' ? 8
                   : spec.type == 'x' ? 16
                   : spec.type == 'X' ? 16
                                      : 10;
  auto rest = static_cast<unsigned __int128>(i);
  if (i < 0) rest = -rest;
  std::string digits;
  do {
    const int digit = static_cast<int>(rest % static_cast<unsigned>(base));
    digits.push_back("0123456789abcdefghij"[digit]);
    rest /= static_cast<unsigned>(base);
  } while (rest != 0);
  while (spec.precision > static_cast<int>(digits.size())) digits.push_back('0');
  std::reverse(digits.begin(), digits.end());
  std::string sign = SignOf(i < 0, spec);
  if (spec.alternate && base != 10) sign += std::string("0") + spec.type;
  if (spec.type == 'X') digits = ToUpper(digits);
  return LayOutNumber(sign, std::move(digits), spec);
}

std::string FormatFloat(double d, const FormatSpec& spec) {
  const std::string sign = SignOf(std::signbit(d) && !std::isnan(d), spec);
  const double size = std::fabs(d);
  std::string digits;
  if (!std::isfinite(d)) {
    digits = std::isnan(d) ? "nan" : "inf";
    if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') digits = ToUpper(digits);
    if (spec.type == '%') digits += "%";
    FormatSpec plain = spec;
    plain.grouping = 0;
    return LayOutNumber(sign, digits, plain);
  }
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (spec.type == 0) {
    digits = ReprFloat(size);
    if (spec.precision >= 0) {
      digits = Printf(size, 'g', std::max(spec.precision, 1), spec.alternate);
      // Without a type there is always a fraction, which takes one digit of the precision.
      const bool whole = digits.find_first_of(".e") == std::string::npos;
      if (whole && static_cast<int>(digits.size()) < spec.precision) {
        digits += ".0";
      } else if (whole) {
        digits = Printf(size, 'e', std::max(spec.precision - 1, 0), false);
        const std::size_t mark = digits.find('e');
        std::string mantissa = digits.substr(0, mark);
        if (mantissa.find('.') != std::string::npos) {
          mantissa.erase(mantissa.find_last_not_of('0') + 1);
          if (mantissa.back() == '.') mantissa.pop_back();
        }
        digits = mantissa + digits.substr(mark);
      }
    }
  } else if (spec.type == '%') {
    digits = Printf(size * 100, 'f', precision, spec.alternate) + "%";
  } else {
    const bool general = spec.type == 'g' || spec.type == 'G' || spec.type == 'n';
    digits = Printf(size, spec.type == 'n' ? 'g' : spec.type,
                    general && precision == 0 ? 1 : precision, spec.alternate);
  }
  FormatSpec decimal = spec;
  decimal.type = 'f';
  return LayOutNumber(sign, digits, decimal);
}

std::string FormatValue(const Value& v, std::string_view text) {
  if (text.empty()) return ToStr(v);
  const auto unknown = [&](char type) {
    Fail(std::string("Unknown format code '") + type + "' for object of type '" + TypeName(v) +
         "'");
  };
  if (!v.is_string() && !v.is_number()) {
    Fail(std::string("unsupported format string passed to ") + TypeName(v) + ".__format__");
  }
  FormatSpec spec = ParseFormatSpec(text);
  if (v.is_string()) {
    if (spec.type != 0 && spec.type != 's') unknown(spec.type);
    if (spec.align == '=') Fail("'=' alignment not allowed in string format specifier");
    if (spec.sign != '-') Fail("Sign not allowed in string format specifier");
    if (spec.grouping) Fail(std::string("Cannot specify '") + spec.grouping + "' with 's'.");
    return FormatText(v.str(), spec);
  }
  constexpr std::string_view kFloatTypes = "eEfFgG%";
  const bool as_float = spec.type != 0 && kFloatTypes.find(spec.type) != std::string_view::npos;
  if (v.is_integral() && !as_float) {
    constexpr std::string_view kIntTypes = "bcdoxXn";
    if (spec.type != 0 && kIntTypes.find(spec.type) == std::string_view::npos) unknown(spec.type);
    if (spec.precision >= 0) Fail("Precision not allowed in integer format specifier");
    if (spec.type == 'c') {
      if (v.integer() < 0 || v.integer() > 0x10FFFF) Fail("%c arg not in range(0x110000)");
      std::string c;
      AppendChar(c, static_cast<char32_t>(v.integer()));
      return FormatText(c, spec);
    }
    return FormatInteger(v.integer(), spec);
  }
  if (!as_float && spec.type != 0 && spec.type != 'n') unknown(spec.type);
  return FormatFloat(v.number(), spec);
}

}  // namespace vt::chat
