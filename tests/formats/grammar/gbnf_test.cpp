// Which texts a grammar takes, and what is said about grammars that are wrong.
#include <gtest/gtest.h>

#include "formats/grammar/grammar_text.h"

namespace vt::test {
namespace {

struct Case {
  std::string grammar;
  std::vector<std::string> fit;
  std::vector<std::string> do_not;
};

void Check(const Case& c) {
  const GrammarState state = StateOf(MustParse(c.grammar));
  for (const std::string& text : c.fit) EXPECT_TRUE(Fits(state, text)) << c.grammar << "\n" << text;
  for (const std::string& text : c.do_not) {
    EXPECT_FALSE(Fits(state, text)) << c.grammar << "\n" << text;
  }
}

TEST(Gbnf, TextsAndChoices) {
  Check({R"(root ::= "yes" | "no")", {"yes", "no"}, {"", "y", "yesno", "No"}});
  Check({"root ::= a b\na ::= \"x\" | \"\"\nb ::= \"y\" | ", {"xy", "x", "y", ""}, {"yx", "xx"}});
  Check({R"(root ::= "a" ("b" | "c" "d") "e")", {"abe", "acde"}, {"ae", "ace", "abde"}});
  Check({"root ::= |\"a\"", {"", "a"}, {"aa"}});
  Check({R"(root ::= "\x41\u00e9\U0001F600\t\n\r\\\"\[\]\-")", {"A\u00e9😀\t\n\r\\\"[]-"}, {"A"}});
}

TEST(Gbnf, Repetitions) {
  Check({R"(root ::= "ab"*)", {"", "ab", "abab"}, {"a", "aba", "abb"}});
  Check({R"(root ::= "a"+)", {"a", "aaaaaaaa"}, {"", "b", "ab"}});
  Check({R"(root ::= "a"?)", {"", "a"}, {"aa"}});
  Check({R"(root ::= [xy]{3})", {"xyx"}, {"xy", "xyxy"}});
  Check({R"(root ::= [xy]{ 2 , })", {"xy", "xyxyx"}, {"", "x"}});
  Check({R"(root ::= [xy]{0,2})", {"", "x", "xx"}, {"xxx"}});
  Check({R"(root ::= ("#" [0-9a-f]{2} ";"?){2,3})",
         {"#00#ff", "#00;#ff;", "#0a#0b;#0c"},
         {"", "#00", "#00#11#22#33"}});
  Check({R"(root ::= "a"{0})", {""}, {"a"}});
  Check({R"(root ::= "a"{2}*)", {"", "aa", "aaaa"}, {"a", "aaa"}});
  Check({"root ::= ( [x]* )*", {"", "x", "xxxx"}, {"y", "xy"}});
  Check({"root ::= ((\"a\"? \"b\"?)* )+ \"c\"", {"c", "abbac"}, {"", "ab"}});
  const std::string many(5000, 'a');
  Check({R"(root ::= "a"{0,5000})", {"", many}, {many + "a"}});
  Check({R"(root ::= "a"{5000})", {many}, {many + "a", many.substr(1)}});
}

TEST(Gbnf, Classes) {
  Check({"root ::= [a-cx]", {"a", "c", "x"}, {"d", "", "-"}});
  Check({"root ::= [^a-c]", {"d", "\n", "é", "😀"}, {"a", "dd"}});
  Check({"root ::= [a-]+", {"-a-"}, {"b"}});
  Check({R"(root ::= [\]\[\\\-"^]+)", {"[]\\-\"^"}, {"a"}});
  Check({R"(root ::= [\x00-\x1F])", {std::string(1, '\0'), "\n"}, {" "}});
  Check({"root ::= [ぁ-ゟ]{2}", {"ひら"}, {"カナ", "ひ"}});
  Check({"root ::= . \"-\" ..", {"x-yz", "é-😀\n"}, {"x-y", "-yz"}});
  // Bytes that are no UTF-8 fit no character.
  Check({"root ::= .*", {"", "a\u00e9"}, {"\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}});
  Check({"root ::= [\\u0080-\\uFFFF]",
         {"\u0080", "\u07FF", "\u0800", "\uD7FF", "\uFFFF"},
         {"a", "😀"}});
}

TEST(Gbnf, LinesAndComments) {
  Check(
      {"# first\n\nroot ::= # here\n  a | # and\n  \"b\"\r\n\r\na ::= (\n \"x\" # one\n  \"y\"\n)+ "
       "# end",
       {"xy", "xyxy", "b"},
       {"x", "xyb"}});
  Check({"root::=\"a\"b\nb::=\"b\"", {"ab"}, {"a"}});
  Check({"root ::= my-rule_2 \nmy-rule_2 ::= \"q\" \"# no comment\"", {"q# no comment"}, {"q"}});
}

TEST(Gbnf, Recursion) {
  const std::string expression = R"re(
root ::= sum
sum ::= product ws ([+-] ws product)*
product ::= factor ws ([*/] ws factor)*
factor ::= [0-9]+ | name | "(" sum ")" | name ws "(" (sum ("," ws sum)*)? ")"
name ::= [a-z_] [a-z_0-9]*
ws ::= [ \t]?)re";
  Check({expression,
         {"7", "2*3*4", "a_1+b - c", "(a+b)*(c-d)", "f()", "f(x, g(y,1)) / 2",
          "1+2*3-4/5+6*7-8/9+1*2-3/4+5*6-7/8+9*1-2/3+4*5-6/7+8*9-1/2+3*4-5/6+7*8"},
         {"", "+", "a + * b", "f(,)", "f(a b)", "(a", "a)", "1 +", "f(g(x)", "2x", "a  b"}});
  Check({"root ::= \"a\" root \"b\" | \"\"", {"", "ab", "aaabbb"}, {"a", "aab", "ba"}});
  // A list that ends by itself: the stack of return points must not grow with it.
  Check({"root ::= \"x\" root | \".\"", {std::string(20000, 'x') + "."}, {"xx"}});
}

TEST(Gbnf, StatesKnowWhereATextMayEnd) {
  GrammarState state = StateOf(MustParse("root ::= \"ab\" \"c\"?"));
  EXPECT_FALSE(state.may_end());
  EXPECT_EQ(state.Expected(), "\"a\"");
  ASSERT_TRUE(state.AcceptText("ab"));
  EXPECT_TRUE(state.may_end());
  EXPECT_FALSE(state.must_end());
  EXPECT_EQ(state.Expected(), "\"c\" or the end");
  GrammarState copy = state;
  EXPECT_FALSE(copy.AcceptText("d"));
  EXPECT_FALSE(copy.may_end());
  EXPECT_EQ(copy.Expected(), "nothing");
  ASSERT_TRUE(state.AcceptText("c"));
  EXPECT_TRUE(state.must_end());
}

TEST(Gbnf, WrongGrammarsAreErrorsWithTheirPlace) {
  const std::string deep(300, '(');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "1:1: no rule is called \"root\""},
      {"rot ::= \"a\"",
       "1:1: no rule is called \"root\", which is where the text starts; near names: \"rot\""},
      {"root ::= \"é\" numero\nnumber ::= [0-9]",
       "1:14: rule \"numero\" is used and not defined; near names: \"number\""},
      {"root ::= x", "1:10: rule \"x\" is used and not defined; define it"},
      {"root ::= \"a\"\nroot ::= \"b\"", "2:1: rule \"root\" is defined twice, first at 1:1"},
      {"root ::= \"a", "1:10: the text in quotes does not end"},
      {"root ::= [a", "1:10: the class does not end"},
      {"root ::= [a-", "1:10: the class does not end"},
      {"root ::= []", "1:10: [] matches no character"},
      {"root ::= [^]", "1:10: [^] excludes nothing"},
      {"root ::= [z-a]", "1:11: the range z-a has its ends the wrong way round"},
      {"root ::= \"\\q\"", "1:11: the escape of \"q\" is not known"},
      {"root ::= \"\\x4\"", "1:11: the escape needs 2 hexadecimal digits, \"\"\" found"},
      {"root ::= \"\\uD800\"", "1:11: \\uD800 is no character"},
      {"root ::= \"\\U00110000\"", "1:11: \\U00110000 is no character"},
      {"root ::= (\"a\"", "1:10: \"(\" is not closed"},
      {"root ::= \"a\")", "1:13: \")\" has no \"(\" before it"},
      {"root ::= *", "1:10: \"*\" repeats what is before it, and there is nothing"},
      {"root ::= \"a\"{,}", "1:14: a number expected in {m}, {m,} or {m,n}, \",\" found"},
      {"root ::= \"a\"{2,1}", "1:13: repetitions: {2,1} has its bounds the wrong way round"},
      {"root ::= \"a\"{3", "1:15: \"}\" expected, the end of the grammar found"},
      {"root ::= \"a\"{9999999999999999999999}",
       "1:14: repetitions: 9999999999999999999999 is more than 1000000"},
      {"root = \"a\"", "1:6: \"::=\" expected after the rule name \"root\", \"=\" found"},
      {"root ::= \"a\"\n  \"b\"", "2:3: a rule starts with its name, not with \"\"\""},
      {"root ::= <think>",
       "1:10: \"<\" starts a match of one token, which vt's grammars do not have"},
      {"root ::= a ::= \"b\"", "1:12: \"::=\" inside a rule"},
      {"root ::= \"a\" &", "1:14: \"&\" is no part of an expression"},
      {"root ::= \"\xFF\"", "1:11: the grammar is not UTF-8 from here on"},
      {"root ::= " + deep, "1:210: more than 200 parentheses inside each other"},
      {"root ::= \"a\" | root \"b\"", "1:1: rule \"root\": left recursion (root -> root)"},
      {"root ::= a\na ::= \"x\" | b \"y\"\nb ::= e a | \"z\"\ne ::= \"q\" | ",
       "2:1: rule \"a\": left recursion (a -> b -> a)"},
      {"root ::= (root \"a\")? \"b\"", "1:1: rule \"root\": left recursion"},
      {"root ::= \"a\" root", "1:1: rule \"root\": no finite text fits"},
      {"root ::= ((((((([^x]*){0,99}){0,99}){0,99}){0,99}){0,99}){0,99}){0,99}",
       "the grammar is larger than 1048576 steps"},
  };
  for (const auto& [text, says] : cases) {
    const Result<Grammar> grammar = ParseGbnf(text);
    ASSERT_FALSE(grammar.ok()) << text;
    EXPECT_EQ(grammar.status().code(), Code::kInvalid) << text;
    EXPECT_NE(grammar.status().message().find(says), std::string::npos)
        << text << "\nwant: " << says << "\ngot:  " << grammar.status().message();
  }
}

}  // namespace
}  // namespace vt::test
