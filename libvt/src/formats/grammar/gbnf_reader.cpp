// GBNF as text: rules `name ::= expression`, each on a line that goes on inside parentheses and
// after "|"; the language is described in docs/howto/grammar.md.
#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "base/near_names.h"
#include "base/utf8.h"
#include "formats/grammar/syntax.h"

namespace vt::grammar {
namespace {

using Kind = Expression::Kind;

constexpr int kDeepest = 200;  // parentheses in parentheses
constexpr std::uint64_t kMostTimes = 1'000'000;

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Syntax> Read() {
    const std::size_t valid = ValidUtf8Prefix(text_);
    if (valid != text_.size()) return Error(valid, "the grammar is not UTF-8 from here on");
    if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos) {
      return Error(nul, "a zero byte; write \\x00 in quotes for that character");
    }
    SkipSpace(true);
    while (!AtEnd()) VT_RETURN_IF_ERROR(ReadRule());
    VT_RETURN_IF_ERROR(CheckNames());
    return std::move(syntax_);
  }

 private:
  bool AtEnd() const { return pos_ >= text_.size(); }
  char Peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  bool Skip(char c) {
    if (Peek() != c) return false;
    ++pos_;
    return true;
  }

  // Positions are asked for in ascending order but for errors, so counting goes on from the last.
  Place PlaceOf(std::size_t pos) {
    if (pos < counted_) {
      counted_ = 0;
      counted_place_ = {};
    }
    for (; counted_ < pos; ++counted_) {
      const unsigned char byte = static_cast<unsigned char>(text_[counted_]);
      if (byte == '\n') {
        counted_place_ = {counted_place_.line + 1, 1};
      } else if ((byte & 0xC0) != 0x80) {
        ++counted_place_.column;
      }
    }
    // Inside a character the column is that of the character, which was counted already.
    return counted_place_;
  }
  Status Error(std::size_t pos, const std::string& message) {
    return ErrorAt(PlaceOf(pos), message);
  }
  // What stands at `pos_`, for a message.
  std::string Seen() const {
    if (AtEnd()) return "the end of the grammar";
    if (Peek() == '\n' || Peek() == '\r') return "the end of the line";
    const Utf8Char c = ReadUtf8(text_, pos_);
    return "\"" + ValidUtf8(text_.substr(pos_, c.length)) + "\"";
  }

  void SkipSpace(bool lines) {
    while (!AtEnd()) {
      const char c = Peek();
      if (c == '#') {
        while (!AtEnd() && Peek() != '\n' && Peek() != '\r') ++pos_;
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++pos_;
      } else {
        return;
      }
    }
  }

  std::string_view TakeName() {
    const std::size_t start = pos_;
    while (IsNameByte(Peek())) ++pos_;
    return text_.substr(start, pos_ - start);
  }

  std::size_t RuleNamed(std::string_view name, std::size_t pos) {
    const auto [it, added] = names_.emplace(std::string(name), syntax_.rules.size());
    if (added) {
      syntax_.rules.push_back({std::string(name), PlaceOf(pos), false, {}});
    }
    return it->second;
  }

  Status ReadRule() {
    const std::size_t start = pos_;
    const std::string_view name = TakeName();
    if (name.empty()) {
      return Error(start, "a rule starts with its name, not with " + Seen() +
                              "; write name ::= expression (an expression goes on in the next "
                              "line only inside parentheses or after \"|\")");
    }
    SkipSpace(false);
    if (!text_.substr(pos_).starts_with("::=")) {
      return Error(pos_, "\"::=\" expected after the rule name \"" + std::string(name) + "\", " +
                             Seen() + " found");
    }
    pos_ += 3;
    SkipSpace(true);
    const std::size_t index = RuleNamed(name, start);
    if (syntax_.rules[index].defined) {
      const Place& first = syntax_.rules[index].place;
      return Error(start, "rule \"" + std::string(name) + "\" is defined twice, first at " +
                              std::to_string(first.line) + ":" + std::to_string(first.column) +
                              "; write the alternatives in one rule, with \"|\" between");
    }
    syntax_.rules[index].place = PlaceOf(start);
    syntax_.rules[index].defined = true;
    VT_ASSIGN_OR_RETURN(Expression body, ReadChoice(0));
    syntax_.rules[index].body = std::move(body);
    if (!AtEnd() && Peek() != '\n' && Peek() != '\r') {
      return Error(pos_, Unexpected());
    }
    SkipSpace(true);
    return {};
  }

  std::string Unexpected() const {
    const std::string seen = Seen();
    switch (Peek()) {
      case '<':
      case '!':
        return seen +
               " starts a match of one token, which vt's grammars do not have; match the "
               "token's text, in quotes";
      case ')':
        return "\")\" has no \"(\" before it";
      case ':':
        return "\"::=\" inside a rule; start each rule in a line of its own";
      default:
        return seen +
               " is no part of an expression; write a rule name, \"text\", [class], a dot or "
               "(group)";
    }
  }

  Result<Expression> ReadChoice(int depth) {
    Expression choice;
    choice.kind = Kind::kChoice;
    choice.place = PlaceOf(pos_);
    while (true) {
      VT_ASSIGN_OR_RETURN(Expression sequence, ReadSequence(depth));
      choice.parts.push_back(std::move(sequence));
      if (!Skip('|')) break;
      SkipSpace(true);
    }
    if (choice.parts.size() == 1) return std::move(choice.parts.front());
    return choice;
  }

  Result<Expression> ReadSequence(int depth) {
    Expression sequence;
    sequence.kind = Kind::kSequence;
    sequence.place = PlaceOf(pos_);
    const bool nested = depth > 0;
    while (!AtEnd()) {
      const char c = Peek();
      Expression item;
      const std::size_t start = pos_;
      item.place = PlaceOf(start);
      if (c == '"') {
        VT_RETURN_IF_ERROR(ReadText(&item));
      } else if (c == '[') {
        VT_RETURN_IF_ERROR(ReadClass(&item));
      } else if (c == '.') {
        ++pos_;
        item.kind = Kind::kClass;
        item.set = CharSet::All();
      } else if (IsNameByte(c)) {
        item.kind = Kind::kRule;
        item.rule = RuleNamed(TakeName(), start);
      } else if (c == '(') {
        if (depth >= kDeepest) {
          return Error(pos_, "more than " + std::to_string(kDeepest) +
                                 " parentheses inside each other; make rules of the inner ones");
        }
        ++pos_;
        SkipSpace(true);
        VT_ASSIGN_OR_RETURN(item, ReadChoice(depth + 1));
        if (!Skip(')')) {
          if (AtEnd()) return Error(start, "\"(\" is not closed");
          return Error(pos_, Unexpected());
        }
      } else if (c == '*' || c == '+' || c == '?' || c == '{') {
        return Error(pos_, Seen() + " repeats what is before it, and there is nothing");
      } else {
        break;
      }
      SkipSpace(nested);
      VT_RETURN_IF_ERROR(ReadRepeats(nested, &item));
      sequence.parts.push_back(std::move(item));
    }
    if (sequence.parts.size() == 1) return std::move(sequence.parts.front());
    return sequence;
  }

  // Any number of * + ? {m,n} behind an item, each of which repeats all before it.
  Status ReadRepeats(bool nested, Expression* item) {
    int repeats = 0;
    while (true) {
      std::uint64_t min = 0;
      std::uint64_t max = kUnbounded;
      const std::size_t start = pos_;
      if (Skip('*')) {
      } else if (Skip('+')) {
        min = 1;
      } else if (Skip('?')) {
        max = 1;
      } else if (Peek() == '{') {
        VT_RETURN_IF_ERROR(ReadBounds(nested, &min, &max));
      } else {
        return {};
      }
      if (++repeats > kDeepest) return Error(start, "too many repetitions of repetitions");
      Expression repeat;
      repeat.kind = Kind::kRepeat;
      repeat.place = PlaceOf(start);
      repeat.min = min;
      repeat.max = max;
      repeat.parts.push_back(std::move(*item));
      *item = std::move(repeat);
      SkipSpace(nested);
    }
  }

  Status ReadCount(std::uint64_t* count) {
    const std::size_t start = pos_;
    *count = 0;
    while (IsDigit(Peek())) {
      *count = *count * 10 + static_cast<std::uint64_t>(text_[pos_++] - '0');
      if (*count > kMostTimes) {
        while (IsDigit(Peek())) ++pos_;
        return Error(start, "repetitions: " + std::string(text_.substr(start, pos_ - start)) +
                                " is more than " + std::to_string(kMostTimes) +
                                "; leave the upper bound out ({m,}) or repeat a larger part");
      }
    }
    if (pos_ == start) {
      return Error(pos_, "a number expected in {m}, {m,} or {m,n}, " + Seen() + " found");
    }
    return {};
  }

  Status ReadBounds(bool nested, std::uint64_t* min, std::uint64_t* max) {
    const std::size_t start = pos_++;
    SkipSpace(nested);
    VT_RETURN_IF_ERROR(ReadCount(min));
    SkipSpace(nested);
    if (Skip(',')) {
      SkipSpace(nested);
      if (IsDigit(Peek())) VT_RETURN_IF_ERROR(ReadCount(max));
      SkipSpace(nested);
    } else {
      *max = *min;
    }
    if (!Skip('}')) return Error(pos_, "\"}\" expected, " + Seen() + " found");
    if (*max < *min) {
      return Error(start, "repetitions: {" + std::to_string(*min) + "," + std::to_string(*max) +
                              "} has its bounds the wrong way round");
    }
    return {};
  }

  Status ReadText(Expression* item) {
    const std::size_t start = pos_++;
    item->kind = Kind::kText;
    while (Peek() != '"') {
      if (AtEnd()) return Error(start, "the text in quotes does not end");
      char32_t c = 0;
      VT_RETURN_IF_ERROR(ReadCharacter(&c));
      item->text.push_back(c);
    }
    ++pos_;
    return {};
  }

  Status ReadClass(Expression* item) {
    const std::size_t start = pos_++;
    item->kind = Kind::kClass;
    const bool negated = Skip('^');
    std::vector<CharRange> ranges;
    while (Peek() != ']') {
      if (AtEnd()) return Error(start, "the class does not end; \"]\" is missing");
      const std::size_t range_start = pos_;
      CharRange range;
      VT_RETURN_IF_ERROR(ReadCharacter(&range.first));
      range.last = range.first;
      if (Peek() == '-' && Peek(1) != ']') {
        ++pos_;
        if (AtEnd()) return Error(start, "the class does not end; \"]\" is missing");
        VT_RETURN_IF_ERROR(ReadCharacter(&range.last));
        if (range.last < range.first) {
          return Error(range_start, "the range " +
                                        ValidUtf8(text_.substr(range_start, pos_ - range_start)) +
                                        " has its ends the wrong way round");
        }
      }
      ranges.push_back(range);
    }
    ++pos_;
    if (ranges.empty()) {
      return Error(start, negated ? "[^] excludes nothing; write a dot for any character"
                                  : "[] matches no character; write \\] for the bracket itself");
    }
    item->set = CharSet(ranges);
    if (negated) item->set = item->set.Complement();
    if (item->set.empty()) return Error(start, "the class matches no character");
    return {};
  }

  // One character of a text or class, which may be written as an escape.
  Status ReadCharacter(char32_t* out) {
    const std::size_t start = pos_;
    if (Peek() != '\\') {
      const Utf8Char c = ReadUtf8(text_, pos_);
      pos_ += c.length;
      *out = c.code_point;
      return {};
    }
    const char kind = Peek(1);
    pos_ += 2;
    switch (kind) {
      case 'x':
        return ReadHex(start, 2, out);
      case 'u':
        return ReadHex(start, 4, out);
      case 'U':
        return ReadHex(start, 8, out);
      case 't':
        *out = '\t';
        return {};
      case 'r':
        *out = '\r';
        return {};
      case 'n':
        *out = '\n';
        return {};
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        *out = static_cast<char32_t>(kind);
        return {};
      default:
        pos_ = std::min(start + 1, text_.size());
        return Error(start, "the escape of " + Seen() +
                                " is not known (those known: \\n \\r \\t \\\\ \\\" \\[ \\] \\- "
                                "\\^ \\xHH \\uHHHH \\UHHHHHHHH)");
    }
  }

  Status ReadHex(std::size_t start, int digits, char32_t* out) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const int digit = HexValue(Peek());
      if (digit < 0) {
        return Error(start, "the escape needs " + std::to_string(digits) + " hexadecimal digits, " +
                                Seen() + " found");
      }
      value = (value << 4) | static_cast<char32_t>(digit);
      ++pos_;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      return Error(start, std::string(text_.substr(start, pos_ - start)) +
                              " is no character (allowed: 0 to 10FFFF without D800 to DFFF)");
    }
    *out = value;
    return {};
  }

  Status CheckNames() {
    std::vector<std::string_view> defined;
    for (const Rule& rule : syntax_.rules) {
      if (rule.defined) defined.push_back(rule.name);
    }
    for (const Rule& rule : syntax_.rules) {
      if (rule.defined) continue;
      const std::string near = NearNames(rule.name, defined);
      return ErrorAt(rule.place, "rule \"" + rule.name + "\" is used and not defined" +
                                     (near.empty() ? "; define it" : "; near names: " + near));
    }
    const auto root = names_.find("root");
    if (root == names_.end()) {
      const std::string near = NearNames("root", defined);
      return ErrorAt({}, "no rule is called \"root\", which is where the text starts" +
                             (near.empty() ? "" : "; near names: " + near));
    }
    syntax_.root = root->second;
    return {};
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t counted_ = 0;  // bytes before which lines and columns are counted
  Place counted_place_;
  Syntax syntax_;
  std::map<std::string, std::size_t, std::less<>> names_;
};

}  // namespace

Status ErrorAt(const Place& place, const std::string& message) {
  return InvalidError(std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
                      message);
}

Result<Syntax> ReadGbnf(std::string_view text) { return Reader(text).Read(); }

}  // namespace vt::grammar
