#include "formats/json_cursor.h"

#include <charconv>

#include "base/utf8.h"
#include "formats/file_error.h"

namespace vt {
namespace {

constexpr std::size_t kMostDepth = 64;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The value of four hex digits; -1 for anything else.
int HexFour(std::string_view text) {
  if (text.size() < 4) return -1;
  int value = 0;
  for (const char c : text.substr(0, 4)) {
    int digit = 0;
    if (IsDigit(c)) {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

bool JsonCursor::Fail(const std::string& what) {
  if (error_.empty()) error_ = what + " (byte " + std::to_string(at_) + ")";
  return false;
}

void JsonCursor::SkipSpace() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

JsonCursor::Kind JsonCursor::Peek() {
  SkipSpace();
  if (failed()) return Kind::kError;
  if (at_ == text_.size()) {
    Fail("ends where a value is wanted");
    return Kind::kError;
  }
  const char c = text_[at_];
  if (c == '{') return Kind::kObject;
  if (c == '[') return Kind::kArray;
  if (c == '"') return Kind::kString;
  if (c == '-' || IsDigit(c)) return Kind::kNumber;
  if (c == 't' || c == 'f') return Kind::kBool;
  if (c == 'n') return Kind::kNull;
  Fail(Quoted(std::string_view(&c, 1)) + " where a value is wanted");
  return Kind::kError;
}

bool JsonCursor::Want(char c, const char* what) {
  SkipSpace();
  if (failed()) return false;
  if (at_ == text_.size()) return Fail(std::string("ends where ") + what + " is wanted");
  if (text_[at_] != c) {
    return Fail(Quoted(text_.substr(at_, 1)) + " where " + what + " is wanted");
  }
  ++at_;
  return true;
}

bool JsonCursor::EnterObject() {
  if (!Want('{', "an object")) return false;
  if (begun_.size() == kMostDepth) return Fail("nested deeper than 64 levels");
  begun_.push_back(false);
  return true;
}

bool JsonCursor::EnterArray() {
  if (!Want('[', "an array")) return false;
  if (begun_.size() == kMostDepth) return Fail("nested deeper than 64 levels");
  begun_.push_back(false);
  return true;
}

// Whether another entry comes; takes the comma before it, or the close.
bool JsonCursor::Next(char close) {
  SkipSpace();
  if (failed() || begun_.empty()) return false;
  if (at_ == text_.size()) return Fail("ends inside an object or array");
  if (text_[at_] == close) {
    ++at_;
    begun_.pop_back();
    return false;
  }
  if (begun_.back()) return Want(',', "a comma");
  begun_.back() = true;
  return true;
}

bool JsonCursor::NextKey(std::string_view& key) {
  return Next('}') && ReadString(key) && Want(':', "a colon");
}

bool JsonCursor::NextElement() { return Next(']'); }

bool JsonCursor::ReadString(std::string_view& value) {
  if (!Want('"', "a string")) return false;
  const std::size_t begin = at_;
  bool escapes = false;
  while (true) {
    if (at_ >= text_.size()) return Fail("ends inside a string");
    const char c = text_[at_];
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20) return Fail("a control character inside a string");
    if (c == '\\') {
      escapes = true;
      ++at_;
    }
    ++at_;
  }
  const std::size_t end = at_;
  value = text_.substr(begin, end - begin);
  if (ValidUtf8Prefix(value) != value.size()) return Fail("a string that is not UTF-8");
  if (escapes && !Unescape(begin, end, value)) return false;
  at_ = end + 1;
  return true;
}

bool JsonCursor::Unescape(std::size_t begin, std::size_t end, std::string_view& value) {
  std::string out;
  for (std::size_t i = begin; i < end; ++i) {
    if (text_[i] != '\\') {
      out.push_back(text_[i]);
      continue;
    }
    at_ = i++;  // `end` is a quote that no backslash leads
    switch (text_[i]) {
      case '"':
      case '\\':
      case '/':
        out.push_back(text_[i]);
        break;
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'u': {
        const int unit = HexFour(text_.substr(i + 1, end - i - 1));
        if (unit < 0) return Fail("an escape \\u without four hex digits");
        i += 4;
        auto code_point = static_cast<char32_t>(unit);
        if (unit >= 0xD800 && unit < 0xE000) {
          const std::string_view rest = text_.substr(i + 1, end - i - 1);
          const int low = rest.starts_with("\\u") ? HexFour(rest.substr(2)) : -1;
          if (unit >= 0xDC00 || low < 0xDC00 || low > 0xDFFF) {
            return Fail("an escape with half of a surrogate pair");
          }
          i += 6;
          code_point = static_cast<char32_t>(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
        }
        AppendUtf8(out, code_point);
        break;
      }
      default:
        return Fail("an unknown escape");
    }
  }
  value = arena_->Keep(out);
  return true;
}

bool JsonCursor::Number(std::string_view& digits) {
  SkipSpace();
  if (failed()) return false;
  const std::size_t begin = at_;
  std::size_t i = at_;
  const auto run = [&] {
    const std::size_t from = i;
    while (i < text_.size() && IsDigit(text_[i])) ++i;
    return i - from;
  };
  if (i < text_.size() && text_[i] == '-') ++i;
  const std::size_t first = i;
  const std::size_t whole = run();
  if (whole == 0) return Fail("no number where one is wanted");
  if (whole > 1 && text_[first] == '0') return Fail("a number that begins with 0");
  if (i < text_.size() && text_[i] == '.') {
    ++i;
    if (run() == 0) return Fail("a number that ends with a point");
  }
  if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
    ++i;
    if (i < text_.size() && (text_[i] == '+' || text_[i] == '-')) ++i;
    if (run() == 0) return Fail("a number without digits in its exponent");
  }
  digits = text_.substr(begin, i - begin);
  at_ = i;
  return true;
}

bool JsonCursor::ReadU64(std::uint64_t& value) {
  std::string_view digits;
  if (!Number(digits)) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size()) return true;
  return Fail(std::string(digits.substr(0, 40)) +
              " where a whole number from 0 to 18446744073709551615 is wanted");
}

bool JsonCursor::ReadNumber(double& value) {
  std::string_view digits;
  if (!Number(digits)) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc()) return true;
  return Fail(std::string(digits.substr(0, 40)) + " is outside the range of numbers");
}

bool JsonCursor::Literal(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return Fail("an unknown word");
  at_ += word.size();
  return true;
}

bool JsonCursor::ReadBool(bool& value) {
  if (Peek() != Kind::kBool) return Fail("no true or false where one is wanted");
  value = text_[at_] == 't';
  return Literal(value ? "true" : "false");
}

bool JsonCursor::Skip() {
  std::string_view text;
  switch (Peek()) {
    case Kind::kObject:
      if (!EnterObject()) return false;
      while (NextKey(text)) {
        if (!Skip()) return false;
      }
      return !failed();
    case Kind::kArray:
      if (!EnterArray()) return false;
      while (NextElement()) {
        if (!Skip()) return false;
      }
      return !failed();
    case Kind::kString:
      return ReadString(text);
    case Kind::kNumber:
      return Number(text);
    case Kind::kBool:
      return Literal(text_[at_] == 't' ? "true" : "false");
    case Kind::kNull:
      return Literal("null");
    case Kind::kError:
      break;
  }
  return false;
}

bool JsonCursor::Finish() {
  SkipSpace();
  if (failed()) return false;
  return at_ == text_.size() || Fail("something follows the value");
}

}  // namespace vt
