// Texts made from random grammars fit them; changed ones fit as a plain backtracking matcher says.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/utf8.h"
#include "formats/grammar/grammar_text.h"
#include "formats/grammar/syntax.h"

namespace vt::test {
namespace {

using grammar::Expression;
using grammar::Syntax;
using Kind = Expression::Kind;

// Where a match of an expression may end: all positions, by trying everything.
class Reference {
 public:
  Reference(const Syntax& syntax, std::u32string text) : syntax_(syntax), text_(std::move(text)) {}

  bool Matches() { return Ends(syntax_.rules[syntax_.root].body, 0).contains(text_.size()); }

 private:
  using Positions = std::set<std::size_t>;

  Positions Ends(const Expression& e, std::size_t at) {
    const auto key = std::pair(&e, at);
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    return known_[key] = Find(e, at);
  }

  Positions Find(const Expression& e, std::size_t at) {
    switch (e.kind) {
      case Kind::kText:
        if (text_.compare(at, e.text.size(), e.text) != 0) return {};
        return {at + e.text.size()};
      case Kind::kClass:
        if (at >= text_.size() || !e.set.Has(text_[at])) return {};
        return {at + 1};
      case Kind::kRule:
        return Ends(syntax_.rules[e.rule].body, at);
      case Kind::kSequence: {
        Positions now = {at};
        for (const Expression& part : e.parts) now = AfterEach(part, now);
        return now;
      }
      case Kind::kChoice: {
        Positions all;
        for (const Expression& part : e.parts) all.merge(Ends(part, at));
        return all;
      }
      case Kind::kRepeat: {
        Positions all;
        Positions now = {at};
        std::set<Positions> seen;
        for (std::uint64_t i = 0;; ++i) {
          if (i >= e.min) all.insert(now.begin(), now.end());
          if (i == e.max || now.empty()) return all;
          if (i >= e.min && !seen.insert(now).second) return all;
          now = AfterEach(e.parts.front(), now);
        }
      }
    }
    return {};
  }

  Positions AfterEach(const Expression& part, const Positions& starts) {
    Positions ends;
    for (const std::size_t start : starts) ends.merge(Ends(part, start));
    return ends;
  }

  const Syntax& syntax_;
  std::u32string text_;
  std::map<std::pair<const Expression*, std::size_t>, Positions> known_;
};

// GBNF of rules that call only later ones, or themselves behind a character.
class RandomGrammar {
 public:
  explicit RandomGrammar(std::mt19937& random) : random_(random) {}

  std::string Make() {
    std::string text;
    for (int rule = 0; rule < kRules; ++rule) {
      rule_ = rule;
      text += (rule == 0 ? "root" : "r" + std::to_string(rule)) + " ::= " + Choice(3);
      if (random_() % 3 == 0)
        text += " | \"" + Letter() + "\" " + Name(rule) + " \"" + Letter() + "\"";
      text += "\n";
    }
    return text;
  }

 private:
  static constexpr int kRules = 4;
  static std::string Name(int rule) { return rule == 0 ? "root" : "r" + std::to_string(rule); }
  std::string Letter() {
    static const std::vector<std::string> letters = {"a", "b", "c", "é", "中", "😀"};
    return letters[random_() % letters.size()];
  }
  std::string Choice(int depth) {
    std::string text = Sequence(depth);
    for (unsigned i = random_() % 3; i > 0; --i) text += " | " + Sequence(depth);
    return text;
  }
  std::string Sequence(int depth) {
    std::string text;
    for (unsigned i = random_() % 4; i > 0; --i) text += Item(depth) + Times() + " ";
    return text.empty() ? "\"\"" : text;
  }
  std::string Item(int depth) {
    switch (random_() % 6) {
      case 0:
        return "\"" + Letter() + Letter() + "\"";
      case 1:
        return "[" + std::string(random_() % 3 == 0 ? "^" : "") + Letter() + Letter() + "]";
      case 2:
        if (rule_ + 1 < kRules)
          return Name(rule_ + 1 + static_cast<int>(random_() % (kRules - rule_ - 1u)));
        return "[a-c]";
      case 3:
        if (depth > 0) return "(" + Choice(depth - 1) + ")";
        return "[é-中]";
      default:
        return "\"" + Letter() + "\"";
    }
  }
  std::string Times() {
    static const std::vector<std::string> times = {"",  "",    "",      "",      "*",   "+",
                                                   "?", "{2}", "{1,3}", "{0,2}", "{2,}"};
    return times[random_() % times.size()];
  }

  std::mt19937& random_;
  int rule_ = 0;
};

// A text of the expression; nullopt where it becomes too long or recursion too deep.
bool Derive(const Syntax& syntax, const Expression& e, std::mt19937& random, int depth,
            std::u32string* out) {
  if (out->size() > 60 || depth > 40) return false;
  switch (e.kind) {
    case Kind::kText:
      *out += e.text;
      return true;
    case Kind::kClass: {
      const auto& ranges = e.set.ranges();
      const auto& range = ranges[random() % ranges.size()];
      out->push_back(range.first + random() % std::min<char32_t>(range.last - range.first + 1, 40));
      return true;
    }
    case Kind::kRule:
      return Derive(syntax, syntax.rules[e.rule].body, random, depth + 1, out);
    case Kind::kSequence:
      for (const Expression& part : e.parts) {
        if (!Derive(syntax, part, random, depth, out)) return false;
      }
      return true;
    case Kind::kChoice:
      return Derive(syntax, e.parts[random() % e.parts.size()], random, depth, out);
    case Kind::kRepeat: {
      std::uint64_t times = e.min + random() % 3;
      times = std::min(times, e.max);
      for (std::uint64_t i = 0; i < times; ++i) {
        if (!Derive(syntax, e.parts.front(), random, depth, out)) return false;
      }
      return true;
    }
  }
  return false;
}

std::string Utf8(const std::u32string& text) {
  std::string out;
  for (const char32_t c : text) AppendUtf8(out, c);
  return out;
}

void Mutate(std::u32string* text, std::mt19937& random) {
  static const std::u32string letters = U"abcé中😀x";
  const char32_t letter = letters[random() % letters.size()];
  const std::size_t at = text->empty() ? 0 : random() % text->size();
  switch (random() % 4) {
    case 0:
      text->insert(text->begin() + static_cast<std::ptrdiff_t>(at), letter);
      break;
    case 1:
      if (!text->empty()) text->erase(at, 1);
      break;
    case 2:
      if (!text->empty()) (*text)[at] = letter;
      break;
    default:
      if (text->size() > 1) std::swap((*text)[at], (*text)[random() % text->size()]);
      break;
  }
}

// Whether the grammar turned out to read some text in more ways at once than are followed.
bool IsTooAmbiguous(GrammarState state) { return !state.AllowedTokens().ok(); }

TEST(ReferenceMatch, RandomGrammarsTakeTheSameTexts) {
  std::mt19937 random(2024);
  std::size_t derived = 0, rejected = 0, kept = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string gbnf = RandomGrammar(random).Make();
    const Result<Syntax> syntax = grammar::ReadGbnf(gbnf);
    ASSERT_TRUE(syntax.ok()) << syntax.status().message() << "\n" << gbnf;
    const Result<Grammar> grammar = ParseGbnf(gbnf);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << gbnf;
    const GrammarState state = StateOf(*grammar);
    for (int i = 0; i < 8; ++i) {
      std::u32string text;
      if (!Derive(*syntax, syntax->rules[syntax->root].body, random, 0, &text)) continue;
      if (!Fits(state, Utf8(text)) && IsTooAmbiguous(state)) break;
      ++derived;
      EXPECT_TRUE(Fits(state, Utf8(text))) << gbnf << "\n" << Utf8(text);
      for (int change = 0; change < 4; ++change) {
        Mutate(&text, random);
        const bool fits = Reference(*syntax, text).Matches();
        if (fits && !Fits(state, Utf8(text)) && IsTooAmbiguous(state)) break;
        ++(fits ? kept : rejected);
        ASSERT_EQ(Fits(state, Utf8(text)), fits) << gbnf << "\n" << Utf8(text);
      }
    }
  }
  EXPECT_GT(derived, 1000u);
  EXPECT_GT(rejected, 1000u);
  EXPECT_GT(kept, 500u);
}

}  // namespace
}  // namespace vt::test
