#include "formats/grammar/pattern.h"

#include <cstdio>
#include <vector>

#include "base/utf8.h"
#include "formats/grammar/char_set.h"

namespace vt::grammar {
namespace {

constexpr int kDeepest = 100;

const CharSet& Digits() {
  static const CharSet set({{'0', '9'}});
  return set;
}
const CharSet& WordCharacters() {
  static const CharSet set({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return set;
}
const CharSet& Spaces() {
  static const CharSet set({{'\t', '\r'},
                            {' ', ' '},
                            {0xA0, 0xA0},
                            {0x1680, 0x1680},
                            {0x2000, 0x200A},
                            {0x2028, 0x2029},
                            {0x202F, 0x202F},
                            {0x205F, 0x205F},
                            {0x3000, 0x3000},
                            {0xFEFF, 0xFEFF}});
  return set;
}
CharSet Dot() { return CharSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).Complement(); }

class Converter {
 public:
  explicit Converter(std::string_view pattern) : text_(Characters(pattern)) {}

  Result<std::string> Convert() {
    std::string out;
    while (true) {
      const bool from_start = Skip('^');
      VT_ASSIGN_OR_RETURN(const std::string sequence, ReadSequence(0));
      const std::size_t anchor = pos_;
      const bool to_end = Skip('$');
      if (to_end && !AtEnd() && Peek() != '|') return Error(anchor, MisplacedAnchor(anchor));
      const std::string any = std::string(kCharRule) + "*";
      out += (from_start ? "" : any + " ") + sequence + (to_end ? "" : " " + any);
      if (Skip('|')) {
        out += " | ";
        continue;
      }
      if (pos_ < text_.size()) return Error(pos_, Unexpected());
      return "(" + out + ")";
    }
  }

 private:
  bool AtEnd() const { return pos_ >= text_.size(); }
  char32_t Peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : 0;
  }
  bool Skip(char32_t c) {
    if (AtEnd() || Peek() != c) return false;
    ++pos_;
    return true;
  }
  Status Error(std::size_t pos, const std::string& message) const {
    return InvalidError("pattern, character " + std::to_string(pos + 1) + ": " + message);
  }
  std::string Seen(std::size_t pos) const {
    if (pos >= text_.size()) return "the end";
    std::string out = "\"";
    AppendUtf8(out, text_[pos]);
    return out + "\"";
  }
  std::string Unexpected() const {
    if (Peek() == ')') return "\")\" has no \"(\" before it";
    if (Peek() == '^' || Peek() == '$') return MisplacedAnchor(pos_);
    return Seen(pos_) + " was not expected";
  }

  std::string MisplacedAnchor(std::size_t pos) const {
    return Seen(pos) + " is supported only around the whole pattern or one of its alternatives";
  }

  Result<std::string> ReadChoice(int depth) {
    std::string out;
    while (true) {
      VT_ASSIGN_OR_RETURN(const std::string sequence, ReadSequence(depth));
      out += sequence;
      if (!Skip('|')) return out;
      out += " | ";
    }
  }

  Result<std::string> ReadSequence(int depth) {
    std::string out;
    while (!AtEnd()) {
      const char32_t c = Peek();
      if (c == '|' || c == ')' || (c == '$' && depth == 0)) break;
      if (c == '^' || c == '$') return Error(pos_, Unexpected());
      VT_ASSIGN_OR_RETURN(std::string item, ReadItem(depth));
      VT_ASSIGN_OR_RETURN(const std::string times, ReadTimes());
      out += (out.empty() ? "" : " ") + item + times;
    }
    return out.empty() ? std::string("\"\"") : out;
  }

  Result<std::string> ReadItem(int depth) {
    const std::size_t start = pos_;
    const char32_t c = text_[pos_++];
    switch (c) {
      case '(':
        return ReadGroup(start, depth);
      case '[': {
        VT_ASSIGN_OR_RETURN(const CharSet set, ReadClass(start));
        return JsonCharacter(set);
      }
      case '.':
        return JsonCharacter(Dot());
      case '\\': {
        VT_ASSIGN_OR_RETURN(const CharSet set, ReadEscape(start, false));
        return JsonCharacter(set);
      }
      case '*':
      case '+':
      case '?':
      case '{':
        return Error(start, Seen(start) + " has nothing to repeat before it");
      default:
        return JsonCharacter(CharSet({{c, c}}));
    }
  }

  Result<std::string> ReadGroup(std::size_t start, int depth) {
    if (depth >= kDeepest) return Error(start, "too many groups inside each other");
    if (Peek() == '?') {
      if (Peek(1) == ':') {
        pos_ += 2;
      } else if (Peek(1) == '<' && Peek(2) != '=' && Peek(2) != '!') {
        while (!AtEnd() && Peek() != '>') ++pos_;  // a name, which means nothing here
        ++pos_;
      } else {
        return Error(start, "look-ahead and look-behind are not supported");
      }
    }
    VT_ASSIGN_OR_RETURN(const std::string choice, ReadChoice(depth + 1));
    if (!Skip(')')) {
      if (AtEnd()) return Error(start, "\"(\" is not closed");
      return Error(pos_, Unexpected());
    }
    return "(" + choice + ")";
  }

  // * + ? {m} {m,} {m,n}, which GBNF writes alike. A "?" behind one asks for the shortest match,
  // which changes no language.
  Result<std::string> ReadTimes() {
    std::string out;
    const std::size_t start = pos_;
    if (Peek() == '{') {
      do {
        const char32_t c = Peek();
        const bool fits = (c >= '0' && c <= '9') || c == ',' || c == '{' || c == '}';
        if (AtEnd() || !fits) return Error(start, "\"{\" starts no {m}, {m,} or {m,n}");
        out += static_cast<char>(c);
        ++pos_;
      } while (out.back() != '}');
      const std::size_t comma = out.find(',');
      if (out.size() < 3 || comma == 1 || out.rfind(',') != comma || out.rfind('{') != 0) {
        return Error(start, "\"" + out + "\" is no {m}, {m,} or {m,n}");
      }
    } else if (Peek() == '*' || Peek() == '+' || Peek() == '?') {
      out = static_cast<char>(text_[pos_++]);
    } else {
      return out;
    }
    Skip('?');
    const char32_t c = Peek();
    if (!AtEnd() && (c == '*' || c == '+' || c == '?' || c == '{')) {
      return Error(pos_, Seen(pos_) + " repeats a repetition; put that in parentheses");
    }
    return out;
  }

  Result<CharSet> ReadClass(std::size_t start) {
    const bool negated = Skip('^');
    CharSet set;
    while (!AtEnd() && Peek() != ']') {
      const std::size_t range_start = pos_;
      VT_ASSIGN_OR_RETURN(CharSet first, ReadClassItem());
      if (Peek() == '-' && Peek(1) != ']' && pos_ + 1 < text_.size()) {
        ++pos_;
        VT_ASSIGN_OR_RETURN(const CharSet last, ReadClassItem());
        const auto single = [](const CharSet& s) {
          return s.ranges().size() == 1 && s.ranges()[0].first == s.ranges()[0].last;
        };
        if (!single(first) || !single(last) || last.ranges()[0].first < first.ranges()[0].first) {
          return Error(range_start, "the range has no first and last character in that order");
        }
        first = CharSet({{first.ranges()[0].first, last.ranges()[0].first}});
      }
      set = set.Union(first);
    }
    if (!Skip(']')) return Error(start, "\"[\" is not closed");
    if (negated) set = set.Complement();
    if (set.empty()) return Error(start, "the class matches no character");
    return set;
  }

  Result<CharSet> ReadClassItem() {
    const std::size_t start = pos_;
    const char32_t c = text_[pos_++];
    if (c == '\\') return ReadEscape(start, true);
    return CharSet({{c, c}});
  }

  Result<CharSet> ReadEscape(std::size_t start, bool in_class) {
    if (AtEnd()) return Error(start, "\"\\\" is the last character");
    const char32_t c = text_[pos_++];
    const auto one = [](char32_t character) { return CharSet({{character, character}}); };
    switch (c) {
      case 'd':
        return Digits();
      case 'D':
        return Digits().Complement();
      case 'w':
        return WordCharacters();
      case 'W':
        return WordCharacters().Complement();
      case 's':
        return Spaces();
      case 'S':
        return Spaces().Complement();
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        if (!(Peek() >= '0' && Peek() <= '9')) return one(0);
        break;
      case 'x':
        return ReadHex(start, 2);
      case 'u':
        return ReadHex(start, 4);
      case 'b':
        if (in_class) return one('\b');
        break;
      default:
        if (c < 0x80 && !WordCharacters().Has(c)) return one(c);
        break;
    }
    return Error(start, "the escape of " + Seen(pos_ - 1) + " is not supported");
  }

  Result<CharSet> ReadHex(std::size_t start, int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char32_t c = Peek();
      const char32_t lower = c | 0x20;
      if (c >= '0' && c <= '9') {
        value = value * 16 + (c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + (lower - 'a' + 10);
      } else {
        return Error(start, "the escape needs " + std::to_string(digits) + " hexadecimal digits");
      }
      ++pos_;
    }
    const CharSet set({{value, value}});
    if (set.empty()) return Error(start, "half a surrogate pair is no character");
    return set;
  }

  std::u32string text_;
  std::size_t pos_ = 0;
};

}  // namespace

std::string JsonCharacter(const CharSet& set) {
  static const CharSet plain = CharSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}).Complement();
  std::vector<std::string> choices;
  if (const CharSet part = set.Intersection(plain); !part.empty()) {
    choices.push_back(ClassText(part));
  }
  const auto add = [&](char32_t c, const std::string& escape) {
    if (set.Has(c)) choices.push_back(LiteralText("\\" + escape));
  };
  add('"', "\"");
  add('\\', "\\");
  for (char32_t c = 0; c < 0x20; ++c) {
    constexpr std::string_view kShort = "btn\vfr";  // 8, 9, 10, (11), 12, 13
    char text[8];
    if (c >= 8 && c <= 13 && c != 11) {
      add(c, std::string(1, kShort[c - 8]));
    } else {
      std::snprintf(text, sizeof text, "u%04X", static_cast<unsigned>(c));
      add(c, text);
    }
  }
  if (choices.size() == 1) return choices.front();
  std::string out;
  for (const std::string& choice : choices) out += (out.empty() ? "(" : " | ") + choice;
  return out + ")";
}

Result<std::string> PatternToGbnf(std::string_view pattern) { return Converter(pattern).Convert(); }

}  // namespace vt::grammar
