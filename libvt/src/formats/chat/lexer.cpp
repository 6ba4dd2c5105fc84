#include "formats/chat/lexer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "formats/chat/arith.h"
#include "formats/chat/budget.h"
#include "formats/chat/print.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }

// Line ends become \n, and one at the very end is dropped.
std::string NormalLines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out.push_back(source[i]);
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Lexeme> Run() {
    while (at_ < source_.size()) Root();
    Emit(Token::kEnd, {});
    return std::move(out_);
  }

 private:
  [[noreturn]] void Error(const std::string& message) {
    throw TemplateError{message, line_, false};
  }

  bool Starts(std::string_view text) const { return StartsAt(at_, text); }
  bool StartsAt(std::size_t at, std::string_view text) const {
    return source_.compare(at, text.size(), text) == 0;
  }

  void Emit(Token token, std::string text) {
    out_.push_back({token, line_, std::move(text), Value()});
  }

  void Advance(std::size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
    line_start_ = to > 0 && source_[to - 1] == '\n';
  }

  std::size_t SkipSpace(std::size_t at) const {
    return source_.size() - StripLeft(std::string_view(source_).substr(at)).size();
  }

  // The end of `{% raw %}` (with its signs) when one starts at `at`, else 0.
  std::size_t RawBegin(std::size_t at) const {
    at += 2;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
    at = SkipSpace(at);
    if (!StartsAt(at, "raw")) return 0;
    at = SkipSpace(at + 3);
    if (StartsAt(at, "-%}")) return SkipSpace(at + 3);
    return StartsAt(at, "%}") ? at + 2 : 0;
  }

  // Emits the text before a tag, stripped as the sign behind the tag's opening says.
  void EmitData(std::size_t tag, bool is_variable) {
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign == '-') {
      text = StripRight(text);
    } else if (sign != '+' && !is_variable) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((start > 0 || line_start_) && StripLeft(text.substr(start)).empty()) {
        text = text.substr(0, start);
      }
    }
    if (!text.empty()) Emit(Token::kData, std::string(text));
    Advance(tag);
  }

  void Root() {
    std::size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        Emit(Token::kData, source_.substr(at_));
        return Advance(source_.size());
      }
      const char next = source_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
    }
    const char kind = source_[tag + 1];
    const std::size_t raw = kind == '%' ? RawBegin(tag) : 0;
    EmitData(tag, kind == '{');
    if (raw != 0) {
      Advance(raw);
      return Raw();
    }
    const bool has_sign =
        at_ + 2 < source_.size() && (source_[at_ + 2] == '-' || source_[at_ + 2] == '+');
    if (kind == '#') {
      Advance(at_ + (has_sign ? 3 : 2));
      return Comment();
    }
    Emit(kind == '{' ? Token::kVariableBegin : Token::kBlockBegin, {});
    Advance(at_ + (has_sign ? 3 : 2));
    Tag(kind == '{');
  }

  // The end of a closing "%}" or "#}" with its signs at `at`, else 0.
  std::size_t CloseEnd(std::size_t at, std::string_view close) const {
    if (StartsAt(at, "-") && StartsAt(at + 1, close)) return SkipSpace(at + 1 + close.size());
    if (StartsAt(at, "+") && StartsAt(at + 1, close)) return at + 1 + close.size();
    if (!StartsAt(at, close)) return 0;
    const std::size_t end = at + close.size();
    return end < source_.size() && source_[end] == '\n' ? end + 1 : end;
  }

  void Comment() {
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string::npos) Error("Missing end of comment tag");
    const bool has_sign = close > at_ && (source_[close - 1] == '-' || source_[close - 1] == '+');
    Advance(CloseEnd(has_sign ? close - 1 : close, "#}"));
  }

  void Raw() {
    for (std::size_t tag = at_;; ++tag) {
      tag = source_.find("{%", tag);
      if (tag == std::string::npos) Error("Missing end of raw directive");
      std::size_t at = tag + 2;
      if (StartsAt(at, "-") || StartsAt(at, "+")) ++at;
      at = SkipSpace(at);
      if (!StartsAt(at, "endraw")) continue;
      const std::size_t end = CloseEnd(SkipSpace(at + 6), "%}");
      if (end == 0) continue;
      EmitData(tag, false);
      return Advance(end);
    }
  }

  void Tag(bool variable) {
    std::vector<char> open;
    while (at_ < source_.size()) {
      if (open.empty()) {
        std::size_t end = 0;
        if (!variable) {
          end = CloseEnd(at_, "%}");
        } else if (Starts("-}}")) {
          end = SkipSpace(at_ + 3);
        } else if (Starts("}}")) {
          end = at_ + 2;
        }
        if (end != 0) {
          Emit(variable ? Token::kVariableEnd : Token::kBlockEnd, {});
          return Advance(end);
        }
      }
      const Decoded d = DecodeAt(source_, at_);
      if (IsSpace(d.c)) {
        Advance(SkipSpace(at_));
      } else if (d.c < 0x80 && IsAsciiDigit(static_cast<char>(d.c))) {
        Number();
      } else if (IsAlnum(d.c) || d.c == '_') {
        Name();
      } else if (d.c == '\'' || d.c == '"') {
        String(static_cast<char>(d.c));
      } else {
        Operator(open);
      }
    }
  }

  void Name() {
    std::size_t end = at_;
    while (end < source_.size()) {
      const Decoded d = DecodeAt(source_, end);
      if (!IsAlnum(d.c) && d.c != '_') break;
      end += d.bytes;
    }
    if (!IsAlpha(DecodeAt(source_, at_).c) && source_[at_] != '_') {
      Error("Invalid character in identifier");
    }
    Emit(Token::kName, source_.substr(at_, end - at_));
    Advance(end);
  }

  void Operator(std::vector<char>& open) {
    const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                     [&](std::string_view op) { return Starts(op); });
    if (found == kOperators.end()) {
      const std::size_t bytes = DecodeAt(source_, at_).bytes;
      Error("unexpected char " + ReprString(std::string_view(source_).substr(at_, bytes)));
    }
    const char c = (*found)[0];
    if (c == '{' || c == '(' || c == '[') {
      open.push_back(c == '{' ? '}' : c == '(' ? ')' : ']');
    } else if (c == '}' || c == ')' || c == ']') {
      if (open.empty()) Error(std::string("unexpected '") + c + "'");
      if (open.back() != c) {
        Error(std::string("unexpected '") + c + "', expected '" + open.back() + "'");
      }
      open.pop_back();
    }
    Emit(Token::kOperator, std::string(*found));
    Advance(at_ + found->size());
  }

  // Behind the digits at `at`, which single underscores may part; `at` when there are none.
  std::size_t Digits(std::size_t at) const {
    std::size_t end = at;
    while (end < source_.size()) {
      if (IsAsciiDigit(source_[end])) {
        ++end;
      } else if (end > at && source_[end] == '_' && end + 1 < source_.size() &&
                 IsAsciiDigit(source_[end + 1])) {
        ++end;
      } else {
        break;
      }
    }
    return end;
  }

  // The end of a float at the current place, else 0.
  std::size_t FloatEnd() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return 0;
    const std::size_t whole = Digits(at_);
    std::size_t end = whole;
    if (StartsAt(whole, ".") && Digits(whole + 1) > whole + 1) end = Digits(whole + 1);
    if (StartsAt(end, "e") || StartsAt(end, "E")) {
      std::size_t exponent = end + 1;
      if (StartsAt(exponent, "+") || StartsAt(exponent, "-")) ++exponent;
      if (Digits(exponent) > exponent) return Digits(exponent);
    }
    return end > whole ? end : 0;
  }

  // The end of an integer, which may have a prefix, at the current place.
  std::size_t IntegerEnd() const {
    if (source_[at_] != '0') return Digits(at_);
    const char prefix = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : ' ';
    const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    if (base != 0) {
      std::size_t end = at_ + 2;
      while (end < source_.size()) {
        const std::size_t digit = source_[end] == '_' ? end + 1 : end;
        if (digit >= source_.size() || DigitValue(source_[digit]) >= base) break;
        end = digit + 1;
      }
      if (end > at_ + 2) return end;
    }
    std::size_t end = at_ + 1;
    while (StartsAt(end, "0") || StartsAt(end, "_0")) end += source_[end] == '_' ? 2 : 1;
    return end;
  }

  void Number() {
    const std::size_t float_end = FloatEnd();
    const std::size_t end = float_end != 0 ? float_end : IntegerEnd();
    std::string digits = source_.substr(at_, end - at_);
    Value number;
    if (float_end != 0) {
      number = Value::Float(*ParseFloat(digits));
    } else {
      const std::optional<Int> parsed = ParseInt(digits, 0);
      if (!parsed) Error("integer " + digits + " is out of range");
      number = Value::Integer(*parsed);
    }
    out_.push_back({float_end != 0 ? Token::kFloat : Token::kInteger, line_, std::move(digits),
                    std::move(number)});
    Advance(end);
  }

  void String(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) Error(std::string("unexpected char ") + ReprString({&quote, 1}));
    Emit(Token::kString, Unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1)));
    Advance(end + 1);
  }

  char32_t HexEscape(std::string_view text, std::size_t at, std::size_t digits) {
    char32_t c = 0;
    if (at + digits > text.size()) Error("truncated escape in a string");
    for (std::size_t i = at; i < at + digits; ++i) {
      if (DigitValue(text[i]) >= 16) Error("truncated escape in a string");
      c = c * 16 + static_cast<char32_t>(DigitValue(text[i]));
    }
    if (c > 0x10FFFF) Error("illegal Unicode character in a string");
    if (c >= 0xD800 && c < 0xE000) Error("surrogates are not allowed in a string");
    return c;
  }

  std::string Unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] != '\\') {
        out.push_back(text[i++]);
        continue;
      }
      const Decoded d = DecodeAt(text, i + 1);
      i += 1 + d.bytes;
      constexpr std::string_view kFrom = "\\'\"abfnrtv";
      constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
      if (d.c == '\n') continue;
      if (d.c < 0x80 && kFrom.find(static_cast<char>(d.c)) != std::string_view::npos) {
        out.push_back(kTo[kFrom.find(static_cast<char>(d.c))]);
      } else if (d.c >= '0' && d.c <= '7') {
        char32_t c = d.c - '0';
        for (int more = 0; more < 2 && i < text.size() && text[i] >= '0' && text[i] <= '7';
             ++more) {
          c = c * 8 + static_cast<char32_t>(text[i++] - '0');
        }
        AppendChar(out, c);
      } else if (d.c == 'x' || d.c == 'u' || d.c == 'U') {
        const std::size_t digits = d.c == 'x' ? 2 : d.c == 'u' ? 4 : 8;
        AppendChar(out, HexEscape(text, i, digits));
        i += digits;
      } else if (d.c == 'N') {
        Error("\\N escapes are not supported in a string; write the character itself");
      } else if (d.c < 0x80) {
        out.push_back('\\');
        out.push_back(static_cast<char>(d.c));
      } else {
        // Jinja escapes such a char before it undoes escapes, so the backslash meets another one.
        char buffer[16];
        const char* format = d.c < 0x100 ? "\\x%02x" : d.c < 0x10000 ? "\\u%04x" : "\\U%08x";
        std::snprintf(buffer, sizeof buffer, format, static_cast<unsigned>(d.c));
        out += buffer;
      }
    }
    return out;
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_start_ = true;
  std::vector<Lexeme> out_;
};

}  // namespace

std::vector<Lexeme> Lex(std::string_view source) { return Lexer(NormalLines(source)).Run(); }

}  // namespace vt::chat
