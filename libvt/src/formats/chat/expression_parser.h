// The expression half of the parser: Jinja's precedences over a stream of tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/chat/ast.h"
#include "formats/chat/lexer.h"

namespace vt::chat {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Lexeme> tokens) : tokens_(std::move(tokens)) {}

 protected:
  // Where a tuple without parentheses ends, besides the end of the tag.
  struct TupleOptions {
    bool simplified = false;  // names and literals only: assignment targets
    bool with_condition = true;
    bool parenthesised = false;   // may be empty
    bool with_namespace = false;  // a.b is a target
    std::string_view end_name = {};
  };

  ExprPtr ParseExpression(bool with_condition = true);
  ExprPtr ParseTuple(const TupleOptions& options);
  // A name, tuple of names or (with_namespace) attribute to assign to.
  ExprPtr ParseTarget(bool with_namespace, std::string_view end_name);
  std::string ParseTargetName();
  // Filters behind `node` (null: the text of a block). `inline_first`: the first has no "|".
  ExprPtr ParseFilters(ExprPtr node, bool inline_first);

  const Lexeme& Current() const { return tokens_[at_]; }
  const Lexeme& Ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Lexeme Next();
  bool Is(Token token) const { return Current().token == token; }
  bool IsOp(std::string_view op) const { return Is(Token::kOperator) && Current().text == op; }
  bool IsName(std::string_view name) const { return Is(Token::kName) && Current().text == name; }
  bool SkipOp(std::string_view op);
  bool SkipName(std::string_view name);
  void ExpectOp(std::string_view op);
  Lexeme Expect(Token token);
  [[noreturn]] void Error(const std::string& message, int line = 0) const;
  [[noreturn]] void ErrorExpected(const std::string& what) const;
  static std::string Describe(const Lexeme& lexeme);

  // Counts nesting while it lives; too much is an error.
  class Nested {
   public:
    explicit Nested(ExpressionParser& parser);
    ~Nested() { --parser_.nesting_; }

   private:
    ExpressionParser& parser_;
  };

 private:
  ExprPtr Make(ExprKind kind, int line) const;
  void Add(Expr& parent, ExprPtr kid) const;
  void CheckDepth(Expr& node, int kid_depth) const;
  ExprPtr ParseCondition();
  ExprPtr ParseOr();
  ExprPtr ParseAnd();
  ExprPtr ParseNot();
  ExprPtr ParseCompare();
  ExprPtr ParseSum();
  ExprPtr ParseConcat();
  ExprPtr ParseProduct();
  ExprPtr ParsePower();
  ExprPtr ParseUnary(bool with_filters);
  ExprPtr ParsePrimary(bool with_namespace);
  ExprPtr ParseNamePrimary(bool with_namespace);
  ExprPtr ParsePostfix(ExprPtr node);
  ExprPtr ParseFilterExpr(ExprPtr node);
  ExprPtr ParseSubscript(ExprPtr node);
  ExprPtr ParseCall(ExprPtr node);
  ExprPtr ParseTest(ExprPtr node);
  ExprPtr ParseList();
  ExprPtr ParseDict();
  void ParseCallArgs(Expr& node);
  std::string ParseDottedName();
  void CheckAssignable(const Expr& target) const;

  std::vector<Lexeme> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace vt::chat
