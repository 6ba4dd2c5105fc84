#include "formats/chat/expression_parser.h"

#include <algorithm>

#include "formats/chat/budget.h"
#include "formats/chat/print.h"

namespace vt::chat {
namespace {

constexpr int kMaxNesting = 200;
constexpr int kMaxDepth = 300;  // of the tree: chains of operators grow it without nesting

bool CanStartTestArgument(const Lexeme& l) {
  switch (l.token) {
    case Token::kName:
      return l.text != "else" && l.text != "or" && l.text != "and";
    case Token::kString:
    case Token::kInteger:
    case Token::kFloat:
      return true;
    case Token::kOperator:
      return l.text == "(" || l.text == "[" || l.text == "{";
    default:
      return false;
  }
}

}  // namespace

ExpressionParser::Nested::Nested(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.nesting_ > kMaxNesting) {
    --parser_.nesting_;
    parser_.Error("nested more than " + std::to_string(kMaxNesting) + " deep");
  }
}

void ExpressionParser::Error(const std::string& message, int line) const {
  throw TemplateError{message, line != 0 ? line : Current().line, false};
}

std::string ExpressionParser::Describe(const Lexeme& l) {
  switch (l.token) {
    case Token::kVariableBegin:
      return "begin of print statement";
    case Token::kVariableEnd:
      return "end of print statement";
    case Token::kBlockBegin:
      return "begin of statement block";
    case Token::kBlockEnd:
      return "end of statement block";
    case Token::kData:
      return "template data / text";
    case Token::kString:
      return "string";
    case Token::kInteger:
      return "integer";
    case Token::kFloat:
      return "float";
    case Token::kEnd:
      return "end of template";
    default:
      return l.text;
  }
}

void ExpressionParser::ErrorExpected(const std::string& what) const {
  if (Is(Token::kEnd)) Error("unexpected end of template, expected '" + what + "'.");
  Error("expected token '" + what + "', got '" + Describe(Current()) + "'");
}

Lexeme ExpressionParser::Next() {
  Lexeme l = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return l;
}

bool ExpressionParser::SkipOp(std::string_view op) {
  if (!IsOp(op)) return false;
  Next();
  return true;
}

bool ExpressionParser::SkipName(std::string_view name) {
  if (!IsName(name)) return false;
  Next();
  return true;
}

void ExpressionParser::ExpectOp(std::string_view op) {
  if (!SkipOp(op)) ErrorExpected(std::string(op));
}

Lexeme ExpressionParser::Expect(Token token) {
  if (!Is(token)) {
    Lexeme wanted;
    wanted.token = token;
    wanted.text = "name";
    ErrorExpected(Describe(wanted));
  }
  return Next();
}

ExprPtr ExpressionParser::Make(ExprKind kind, int line) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

void ExpressionParser::CheckDepth(Expr& node, int kid_depth) const {
  node.depth = std::max(node.depth, kid_depth + 1);
  if (node.depth > kMaxDepth) {
    Error("an expression of more than " + std::to_string(kMaxDepth) + " steps in a row");
  }
}

void ExpressionParser::Add(Expr& parent, ExprPtr kid) const {
  if (kid) CheckDepth(parent, kid->depth);
  parent.kids.push_back(std::move(kid));
}

ExprPtr ExpressionParser::ParseExpression(bool with_condition) {
  const Nested nested(*this);
  return with_condition ? ParseCondition() : ParseOr();
}

ExprPtr ExpressionParser::ParseCondition() {
  const Nested nested(*this);
  ExprPtr node = ParseOr();
  while (IsName("if")) {
    ExprPtr cond = Make(ExprKind::kCond, Next().line);
    Add(*cond, std::move(node));
    Add(*cond, ParseOr());
    Add(*cond, SkipName("else") ? ParseCondition() : nullptr);
    node = std::move(cond);
  }
  return node;
}

ExprPtr ExpressionParser::ParseOr() {
  ExprPtr left = ParseAnd();
  while (IsName("or")) {
    ExprPtr node = Make(ExprKind::kOr, Next().line);
    Add(*node, std::move(left));
    Add(*node, ParseAnd());
    left = std::move(node);
  }
  return left;
}

ExprPtr ExpressionParser::ParseAnd() {
  ExprPtr left = ParseNot();
  while (IsName("and")) {
    ExprPtr node = Make(ExprKind::kAnd, Next().line);
    Add(*node, std::move(left));
    Add(*node, ParseNot());
    left = std::move(node);
  }
  return left;
}

ExprPtr ExpressionParser::ParseNot() {
  if (!IsName("not")) return ParseCompare();
  const Nested nested(*this);
  ExprPtr node = Make(ExprKind::kUnary, Next().line);
  node->op = Op::kNot;
  Add(*node, ParseNot());
  return node;
}

ExprPtr ExpressionParser::ParseCompare() {
  ExprPtr left = ParseSum();
  ExprPtr node;
  for (;;) {
    Op op = Op::kEq;
    if (IsOp("==")) {
      op = Op::kEq;
    } else if (IsOp("!=")) {
      op = Op::kNe;
    } else if (IsOp("<")) {
      op = Op::kLt;
    } else if (IsOp("<=")) {
      op = Op::kLe;
    } else if (IsOp(">")) {
      op = Op::kGt;
    } else if (IsOp(">=")) {
      op = Op::kGe;
    } else if (IsName("in")) {
      op = Op::kIn;
    } else if (IsName("not") && Ahead().token == Token::kName && Ahead().text == "in") {
      op = Op::kNotIn;
      Next();
    } else {
      break;
    }
    const int line = Next().line;
    if (!node) {
      node = Make(ExprKind::kCompare, line);
      Add(*node, std::move(left));
    }
    node->ops.push_back(op);
    Add(*node, ParseSum());
  }
  return node ? std::move(node) : std::move(left);
}

ExprPtr ExpressionParser::ParseSum() {
  ExprPtr left = ParseConcat();
  while (IsOp("+") || IsOp("-")) {
    const Lexeme op = Next();
    ExprPtr node = Make(ExprKind::kBinary, op.line);
    node->op = op.text == "+" ? Op::kAdd : Op::kSub;
    Add(*node, std::move(left));
    Add(*node, ParseConcat());
    left = std::move(node);
  }
  return left;
}

ExprPtr ExpressionParser::ParseConcat() {
  ExprPtr left = ParseProduct();
  if (!IsOp("~")) return left;
  ExprPtr node = Make(ExprKind::kConcat, Current().line);
  Add(*node, std::move(left));
  while (SkipOp("~")) Add(*node, ParseProduct());
  return node;
}

ExprPtr ExpressionParser::ParseProduct() {
  ExprPtr left = ParsePower();
  while (IsOp("*") || IsOp("/") || IsOp("//") || IsOp("%")) {
    const Lexeme op = Next();
    ExprPtr node = Make(ExprKind::kBinary, op.line);
    node->op = op.text == "*"    ? Op::kMul
               : op.text == "/"  ? Op::kDiv
               : op.text == "//" ? Op::kFloorDiv
                                 : Op::kMod;
    Add(*node, std::move(left));
    Add(*node, ParsePower());
    left = std::move(node);
  }
  return left;
}

ExprPtr ExpressionParser::ParsePower() {
  ExprPtr left = ParseUnary(true);
  while (IsOp("**")) {
    ExprPtr node = Make(ExprKind::kBinary, Next().line);
    node->op = Op::kPow;
    Add(*node, std::move(left));
    Add(*node, ParseUnary(true));
    left = std::move(node);
  }
  return left;
}

ExprPtr ExpressionParser::ParseUnary(bool with_filters) {
  const Nested nested(*this);
  ExprPtr node;
  if (IsOp("-") || IsOp("+")) {
    const Lexeme op = Next();
    node = Make(ExprKind::kUnary, op.line);
    node->op = op.text == "-" ? Op::kNegate : Op::kPlus;
    Add(*node, ParseUnary(false));
  } else {
    node = ParsePrimary(false);
  }
  node = ParsePostfix(std::move(node));
  return with_filters ? ParseFilterExpr(std::move(node)) : std::move(node);
}

ExprPtr ExpressionParser::ParseNamePrimary(bool with_namespace) {
  const Lexeme l = Next();
  if (l.text == "true" || l.text == "True" || l.text == "false" || l.text == "False") {
    ExprPtr node = Make(ExprKind::kConst, l.line);
    node->value = Value::Bool(l.text[0] == 't' || l.text[0] == 'T');
    return node;
  }
  if (l.text == "none" || l.text == "None") {
    ExprPtr node = Make(ExprKind::kConst, l.line);
    node->value = Value::None();
    return node;
  }
  const bool attribute = with_namespace && SkipOp(".");
  ExprPtr node = Make(attribute ? ExprKind::kAttrRef : ExprKind::kName, l.line);
  node->name = l.text;
  if (attribute) node->attr = Expect(Token::kName).text;
  return node;
}

ExprPtr ExpressionParser::ParsePrimary(bool with_namespace) {
  const Nested nested(*this);
  switch (Current().token) {
    case Token::kName:
      return ParseNamePrimary(with_namespace);
    case Token::kString: {
      ExprPtr node = Make(ExprKind::kConst, Current().line);
      std::string text = Next().text;
      while (Is(Token::kString)) text += Next().text;
      node->value = Value::String(std::move(text));
      return node;
    }
    case Token::kInteger:
    case Token::kFloat: {
      ExprPtr node = Make(ExprKind::kConst, Current().line);
      node->value = Next().number;
      return node;
    }
    default:
      break;
  }
  if (SkipOp("(")) {
    TupleOptions options;
    options.parenthesised = true;
    ExprPtr node = ParseTuple(options);
    ExpectOp(")");
    return node;
  }
  if (IsOp("[")) return ParseList();
  if (IsOp("{")) return ParseDict();
  Error("unexpected '" + Describe(Current()) + "'");
}

ExprPtr ExpressionParser::ParseTuple(const TupleOptions& options) {
  const int line = Current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) ExpectOp(",");
    if (Is(Token::kVariableEnd) || Is(Token::kBlockEnd) || IsOp(")") ||
        (!options.end_name.empty() && IsName(options.end_name))) {
      break;
    }
    items.push_back(options.simplified ? ParsePrimary(options.with_namespace)
                                       : ParseExpression(options.with_condition));
    if (!IsOp(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return std::move(items[0]);
    if (!options.parenthesised) {
      Error("Expected an expression, got '" + Describe(Current()) + "'");
    }
  }
  ExprPtr node = Make(ExprKind::kTuple, line);
  for (ExprPtr& item : items) Add(*node, std::move(item));
  return node;
}

void ExpressionParser::CheckAssignable(const Expr& target) const {
  const char* kind = nullptr;
  switch (target.kind) {
    case ExprKind::kName:
    case ExprKind::kAttrRef:
      return;
    case ExprKind::kTuple:
      for (const ExprPtr& kid : target.kids) CheckAssignable(*kid);
      return;
    case ExprKind::kConst:
      kind = "const";
      break;
    case ExprKind::kList:
      kind = "list";
      break;
    case ExprKind::kDict:
      kind = "dict";
      break;
    default:
      kind = "expression";
  }
  Error(std::string("can't assign to '") + kind + "'", target.line);
}

ExprPtr ExpressionParser::ParseTarget(bool with_namespace, std::string_view end_name) {
  TupleOptions options;
  options.simplified = true;
  options.with_namespace = with_namespace;
  options.end_name = end_name;
  ExprPtr target = ParseTuple(options);
  CheckAssignable(*target);
  return target;
}

std::string ExpressionParser::ParseTargetName() {
  const Lexeme l = Expect(Token::kName);
  for (const char* constant : {"true", "True", "false", "False", "none", "None"}) {
    if (l.text == constant) Error("can't assign to 'name'", l.line);
  }
  return l.text;
}

ExprPtr ExpressionParser::ParseList() {
  ExprPtr node = Make(ExprKind::kList, Next().line);
  while (!IsOp("]")) {
    if (!node->kids.empty()) ExpectOp(",");
    if (IsOp("]")) break;
    Add(*node, ParseExpression());
  }
  ExpectOp("]");
  return node;
}

ExprPtr ExpressionParser::ParseDict() {
  ExprPtr node = Make(ExprKind::kDict, Next().line);
  while (!IsOp("}")) {
    if (!node->kids.empty()) ExpectOp(",");
    if (IsOp("}")) break;
    Add(*node, ParseExpression());
    ExpectOp(":");
    Add(*node, ParseExpression());
  }
  ExpectOp("}");
  return node;
}

ExprPtr ExpressionParser::ParsePostfix(ExprPtr node) {
  for (;;) {
    if (IsOp(".") || IsOp("[")) {
      node = ParseSubscript(std::move(node));
    } else if (IsOp("(")) {
      node = ParseCall(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::ParseFilterExpr(ExprPtr node) {
  for (;;) {
    if (IsOp("|")) {
      node = ParseFilters(std::move(node), false);
    } else if (IsName("is")) {
      node = ParseTest(std::move(node));
    } else if (IsOp("(")) {
      node = ParseCall(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::ParseSubscript(ExprPtr object) {
  const Lexeme op = Next();
  if (op.text == ".") {
    const Lexeme l = Next();
    if (l.token == Token::kName) {
      ExprPtr node = Make(ExprKind::kGetAttr, op.line);
      node->name = l.text;
      Add(*node, std::move(object));
      return node;
    }
    if (l.token != Token::kInteger) Error("expected name or number", l.line);
    ExprPtr node = Make(ExprKind::kGetItem, op.line);
    ExprPtr index = Make(ExprKind::kConst, l.line);
    index->value = l.number;
    Add(*node, std::move(object));
    Add(*node, std::move(index));
    return node;
  }
  std::vector<ExprPtr> bounds;
  std::vector<ExprPtr> items;
  bool slice = false;
  while (!IsOp("]")) {
    if (!items.empty()) ExpectOp(",");
    ExprPtr first = IsOp(":") ? nullptr : ParseExpression();
    if (!IsOp(":")) {
      items.push_back(std::move(first));
      continue;
    }
    slice = true;
    bounds.push_back(std::move(first));
    for (int i = 0; i < 2; ++i) {
      const bool open = (i == 0 || IsOp(":")) && SkipOp(":");
      const bool given = open && !IsOp(":") && !IsOp("]") && !IsOp(",");
      bounds.push_back(given ? ParseExpression() : nullptr);
    }
    if (!IsOp("]")) ErrorExpected("]");
    if (!items.empty()) Error("a slice in a tuple of subscripts");
  }
  ExpectOp("]");
  if (!slice && items.empty()) {
    // x[] asks for the empty tuple.
    items.push_back(Make(ExprKind::kTuple, op.line));
  }
  ExprPtr node = Make(slice ? ExprKind::kSlice : ExprKind::kGetItem, op.line);
  Add(*node, std::move(object));
  if (slice) {
    for (ExprPtr& bound : bounds) Add(*node, std::move(bound));
  } else if (items.size() == 1) {
    Add(*node, std::move(items[0]));
  } else {
    ExprPtr tuple = Make(ExprKind::kTuple, op.line);
    for (ExprPtr& item : items) Add(*tuple, std::move(item));
    Add(*node, std::move(tuple));
  }
  return node;
}

void ExpressionParser::ParseCallArgs(Expr& node) {
  const int line = Current().line;
  ExpectOp("(");
  node.args = std::make_unique<CallArgs>();
  CallArgs& args = *node.args;
  const auto ensure = [&](bool good) {
    if (!good) Error("invalid syntax for function call expression", line);
  };
  const auto counted = [&](ExprPtr value) {
    CheckDepth(node, value->depth);
    return value;
  };
  bool first = true;
  while (!IsOp(")")) {
    if (!first) {
      ExpectOp(",");
      if (IsOp(")")) break;
    }
    first = false;
    if (SkipOp("*")) {
      ensure(!args.star && !args.star_star);
      args.star = counted(ParseExpression());
    } else if (SkipOp("**")) {
      ensure(!args.star_star);
      args.star_star = counted(ParseExpression());
    } else if (Is(Token::kName) && Ahead().token == Token::kOperator && Ahead().text == "=") {
      ensure(!args.star_star);
      std::string key = Next().text;
      Next();
      for (const auto& [name, value] : args.kwargs) {
        if (name == key) Error("keyword argument repeated: " + key);
      }
      args.kwargs.emplace_back(std::move(key), counted(ParseExpression()));
    } else {
      ensure(!args.star && !args.star_star && args.kwargs.empty());
      args.args.push_back(counted(ParseExpression()));
    }
  }
  ExpectOp(")");
}

ExprPtr ExpressionParser::ParseCall(ExprPtr callee) {
  ExprPtr node = Make(ExprKind::kCall, Current().line);
  Add(*node, std::move(callee));
  ParseCallArgs(*node);
  return node;
}

std::string ExpressionParser::ParseDottedName() {
  std::string name = Expect(Token::kName).text;
  while (SkipOp(".")) {
    name += '.';
    name += Expect(Token::kName).text;
  }
  return name;
}

ExprPtr ExpressionParser::ParseFilters(ExprPtr node, bool inline_first) {
  while (inline_first || IsOp("|")) {
    if (!inline_first) Next();
    inline_first = false;
    ExprPtr filter = Make(ExprKind::kFilter, Current().line);
    filter->name = ParseDottedName();
    Add(*filter, std::move(node));
    if (IsOp("(")) ParseCallArgs(*filter);
    node = std::move(filter);
  }
  return node;
}

ExprPtr ExpressionParser::ParseTest(ExprPtr subject) {
  const int line = Next().line;
  const bool negated = SkipName("not");
  ExprPtr node = Make(ExprKind::kTest, line);
  node->name = ParseDottedName();
  Add(*node, std::move(subject));
  if (IsOp("(")) {
    ParseCallArgs(*node);
  } else if (CanStartTestArgument(Current())) {
    if (IsName("is")) Error("You cannot chain multiple tests with is");
    node->args = std::make_unique<CallArgs>();
    ExprPtr argument = ParsePostfix(ParsePrimary(false));
    CheckDepth(*node, argument->depth);
    node->args->args.push_back(std::move(argument));
  }
  if (!negated) return node;
  ExprPtr inverse = Make(ExprKind::kUnary, line);
  inverse->op = Op::kNot;
  Add(*inverse, std::move(node));
  return inverse;
}

}  // namespace vt::chat
