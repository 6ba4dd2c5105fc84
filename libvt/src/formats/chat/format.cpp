#include "formats/chat/format.h"

#include <cmath>

#include "formats/chat/arith.h"
#include "formats/chat/budget.h"
#include "formats/chat/number_format.h"
#include "formats/chat/objects.h"
#include "formats/chat/print.h"
#include "formats/chat/strings.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(const Value& format, const Value& values)
      : text_(format.str()), markup_(IsMarkup(format)), values_(values) {
    tuple_ = values.is(Type::kSeq) &&
             (values.seq().kind == SeqKind::kTuple || values.seq().kind == SeqKind::kGroup);
    // Python asks only whether it can be indexed, and lists can.
    mapping_ = !tuple_ && (values.is(Type::kDict) || values.is(Type::kSeq) || values.undefined());
  }

  Value Run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '%') {
        out_.push_back(text_[at_++]);
        continue;
      }
      ++at_;
      Conversion();
      CheckBytes(out_.size());
    }
    const std::size_t given = tuple_ ? values_.seq().items.size() : 1;
    if (used_ < given && !mapping_) {
      Fail("not all arguments converted during string formatting");
    }
    ChargeBytes(out_.size());
    return markup_ ? Value::Markup(std::move(out_)) : Value::String(std::move(out_));
  }

 private:
  const Value& Next() {
    if (tuple_) {
      if (used_ >= values_.seq().items.size()) Fail("not enough arguments for format string");
      return values_.seq().items[used_++];
    }
    if (used_++ > 0) Fail("not enough arguments for format string");
    return values_;
  }

  char Peek() const {
    if (at_ >= text_.size()) Fail("incomplete format");
    return text_[at_];
  }

  std::size_t Count(FormatSpec& spec, bool width) {
    constexpr std::size_t kMax = 10000;
    std::size_t value = 0;
    if (Peek() == '*') {
      ++at_;
      Int given = IntArg("*", Next());
      if (given < 0 && width) {
        spec.align = '<';
        given = -given;
      }
      if (given > static_cast<Int>(kMax)) Fail("width or precision too big");
      return given < 0 ? 0 : static_cast<std::size_t>(given);
    }
    while (Peek() >= '0' && Peek() <= '9') {
      value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
      if (value > kMax) Fail("width or precision too big");
    }
    return value;
  }

  void Conversion() {
    const Value* named = nullptr;
    if (Peek() == '(') {
      const std::size_t close = text_.find(')', at_);
      if (close == std::string::npos) Fail("incomplete format key");
      if (!values_.is(Type::kDict)) Fail("format requires a mapping");
      const std::string key = text_.substr(at_ + 1, close - at_ - 1);
      named = values_.dict().Find(key);
      if (!named) Fail(ReprString(key));
      at_ = close + 1;
    }
    FormatSpec spec;
    spec.align = '>';
    for (bool flags = true; flags;) {
      const char c = Peek();
      flags = c == '-' || c == '+' || c == ' ' || c == '#' || c == '0';
      if (c == '-') spec.align = '<';
      if (c == '+' || (c == ' ' && spec.sign != '+')) spec.sign = c;
      if (c == '#') spec.alternate = true;
      if (c == '0') spec.zero = true;
      if (flags) ++at_;
    }
    spec.width = Count(spec, true);
    if (Peek() == '.') {
      ++at_;
      spec.precision = static_cast<int>(Count(spec, false));
    }
    if (Peek() == 'h' || Peek() == 'l' || Peek() == 'L') ++at_;
    const char type = Peek();
    ++at_;
    if (type == '%') {
      out_ += FormatText("%", spec);
      return;
    }
    Write(type, spec, named ? *named : Next());
  }

  void Write(char type, FormatSpec spec, const Value& v) {
    const auto number = [&] {
      if (v.undefined()) FailUndefined(v);
      if (!v.is_number()) {
        Fail(std::string("%") + type + " format: a real number is required, not " + TypeName(v));
      }
    };
    const bool text_type = type == 's' || type == 'r' || type == 'a' || type == 'c';
    spec.zero = spec.zero && spec.align == '>' && !text_type;
    if (spec.zero) spec.align = '=';
    spec.type = type;
    switch (type) {
      case 's':
      case 'r':
      case 'a': {
        std::string text = type == 's' ? ToStr(v) : Repr(v);
        if (markup_ && !IsMarkup(v)) text = EscapeHtml(text);
        out_ += FormatText(text, spec);
        return;
      }
      case 'c': {
        std::string c;
        if (v.is_string() && CountChars(v.str()) == 1) {
          c = v.str();
        } else {
          const Int code = IntArg("%c", v);
          if (code < 0 || code > 0x10FFFF) Fail("%c arg not in range(0x110000)");
          AppendChar(c, static_cast<char32_t>(code));
        }
        spec.precision = -1;
        out_ += FormatText(c, spec);
        return;
      }
      case 'd':
      case 'i':
      case 'u': {
        number();
        spec.type = 'd';
        const std::optional<Int> whole =
            v.is_integral() ? std::optional<Int>(v.integer()) : Truncate(v.number());
        if (!whole) Fail("cannot convert float " + Repr(v) + " to integer");
        out_ += FormatInteger(*whole, spec);
        return;
      }
      case 'o':
      case 'x':
      case 'X':
        if (!v.is_integral()) {
          Fail(std::string("%") + type + " format: an integer is required, not " + TypeName(v));
        }
        out_ += FormatInteger(v.integer(), spec);
        return;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (v.undefined()) FailUndefined(v);
        if (!v.is_number()) Fail(std::string("must be real number, not ") + TypeName(v));
        out_ += FormatFloat(v.number(), spec);
        return;
      default:
        Fail(std::string("unsupported format character '") + type + "'");
    }
  }

  const std::string& text_;
  bool markup_;
  const Value& values_;
  bool tuple_ = false;
  bool mapping_ = false;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  std::string out_;
};

class BraceFormatter {
 public:
  explicit BraceFormatter(const Call& call) : call_(call) {}

  std::string Run(std::string_view text, int nesting) {
    if (nesting > 2) Fail("Max string recursion exceeded");
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      if (c != '{' && c != '}') {
        out.push_back(c);
        ++at;
      } else if (at + 1 < text.size() && text[at + 1] == c) {
        out.push_back(c);
        at += 2;
      } else if (c == '}') {
        Fail("Single '}' encountered in format string");
      } else {
        const std::size_t close = Close(text, at);
        out += Field(text.substr(at + 1, close - at - 1), nesting);
        at = close + 1;
      }
      CheckBytes(out.size());
    }
    ChargeBytes(out.size());
    return out;
  }

 private:
  static std::size_t Close(std::string_view text, std::size_t open) {
    int depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
      if (text[at] == '{') ++depth;
      if (text[at] == '}' && --depth == 0) return at;
    }
    Fail(open + 1 == text.size() ? "Single '{' encountered in format string"
                                 : "expected '}' before end of string");
  }

  std::string Field(std::string_view field, int nesting) {
    const std::size_t bracket = field.find('[');
    std::size_t end = field.find_first_of("!:");
    if (end != std::string_view::npos && bracket < end) {
      const std::size_t close = field.find(']', bracket);
      end = close == std::string_view::npos ? close : field.find_first_of("!:", close);
    }
    const std::string_view name = field.substr(0, end);
    std::string_view rest = end == std::string_view::npos ? "" : field.substr(end);
    char conversion = 0;
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2) Fail("end of string while looking for conversion specifier");
      conversion = rest[1];
      rest.remove_prefix(2);
      if (!rest.empty() && rest[0] != ':') Fail("expected ':' after conversion specifier");
    }
    Value v = Look(name);
    if (!rest.empty()) rest.remove_prefix(1);
    const std::string spec = Run(rest, nesting + 1);
    if (conversion == 'r' || conversion == 'a') {
      v = Value::String(Repr(v));
    } else if (conversion == 's') {
      v = Value::String(ToStr(v));
    } else if (conversion != 0) {
      Fail(std::string("Unknown conversion specifier ") + conversion);
    }
    return FormatValue(v, spec);
  }

  static bool AllDigits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Value First(std::string_view name) {
    if (name.empty() || AllDigits(name)) {
      if (name.empty() == manual_ && numbered_) {
        Fail("cannot switch between manual field specification and automatic field numbering");
      }
      numbered_ = true;
      manual_ = !name.empty();
      const Int index = manual_ ? ParseInt(name, 10).value_or(-1) : static_cast<Int>(next_++);
      if (index < 0 || index >= static_cast<Int>(call_.args.size())) {
        Fail("Replacement index " + FormatInt(index) + " out of range for positional args tuple");
      }
      return call_.args[static_cast<std::size_t>(index)];
    }
    for (const auto& [key, value] : call_.kwargs) {
      if (key == name) return value;
    }
    Fail(ReprString(name));
  }

  Value Look(std::string_view name) {
    std::size_t at = std::min(name.find_first_of(".["), name.size());
    Value v = First(name.substr(0, at));
    while (at < name.size()) {
      if (name[at] == '.') {
        const std::size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) Fail("Empty attribute in format string");
        v = GetAttr(v, name.substr(at + 1, end - at - 1));
        at = end;
      } else if (name[at] == '[') {
        const std::size_t close = name.find(']', at);
        if (close == std::string_view::npos) Fail("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, close - at - 1);
        if (key.empty()) Fail("Empty attribute in format string");
        const std::optional<Int> index = AllDigits(key) ? ParseInt(key, 10) : std::nullopt;
        v = GetItem(v, index ? Value::Integer(*index) : Value::String(std::string(key)));
        at = close + 1;
      } else {
        Fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return v;
  }

  const Call& call_;
  std::size_t next_ = 0;
  bool numbered_ = false;
  bool manual_ = false;
};

}  // namespace

Value PercentFormat(const Value& format, const Value& values) {
  return PercentFormatter(format, values).Run();
}

std::string BraceFormat(const std::string& format, const Call& call) {
  return BraceFormatter(call).Run(format, 0);
}

}  // namespace vt::chat
