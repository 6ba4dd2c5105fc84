#include "formats/chat/parser.h"

#include <algorithm>
#include <initializer_list>

#include "formats/chat/budget.h"
#include "formats/chat/expression_parser.h"
#include "formats/chat/lexer.h"

namespace vt::chat {
namespace {

constexpr int kMaxBlocks = 100;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Program Run() {
    Program program;
    program.body = ParseBody({});
    return program;
  }

 private:
  using StmtPtr = std::unique_ptr<Stmt>;

  static StmtPtr Make(StmtKind kind, int line) {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = line;
    return stmt;
  }

  // Statements up to a tag of one of those names, which stays current; none: up to the end.
  Body ParseBody(std::initializer_list<std::string_view> ends) {
    Body body;
    while (!Is(Token::kEnd)) {
      const int line = Current().line;
      if (Is(Token::kData)) {
        StmtPtr text = Make(StmtKind::kText, line);
        text->text = Next().text;
        body.push_back(std::move(text));
      } else if (Is(Token::kVariableBegin)) {
        Next();
        StmtPtr print = Make(StmtKind::kPrint, line);
        print->expr = ParseTuple({});
        Expect(Token::kVariableEnd);
        body.push_back(std::move(print));
      } else {
        Expect(Token::kBlockBegin);
        if (Is(Token::kName) && std::find(ends.begin(), ends.end(), Current().text) != ends.end()) {
          return body;
        }
        ParseStatement(body, ends);
        Expect(Token::kBlockEnd);
      }
    }
    if (ends.size() > 0) {
      Error(
          "Unexpected end of template. Jinja was looking for the following tags: " + Wanted(ends) +
          ". The innermost block that needs to be closed is '" + tags_.back() + "'.");
    }
    return body;
  }

  static std::string Wanted(std::initializer_list<std::string_view> ends) {
    std::string out;
    for (const std::string_view end : ends) {
      out += (out.empty() ? "'" : " or '") + std::string(end) + "'";
    }
    return out;
  }

  // The body behind a tag's head. `drop_end`: the closing name is read too.
  Body ParseBlock(std::initializer_list<std::string_view> ends, bool drop_end) {
    SkipOp(":");
    Expect(Token::kBlockEnd);
    if (++blocks_ > kMaxBlocks) {
      Error("blocks nested more than " + std::to_string(kMaxBlocks) + " deep");
    }
    Body body = ParseBody(ends);
    --blocks_;
    if (drop_end) Next();
    return body;
  }

  void ParseStatement(Body& body, std::initializer_list<std::string_view> ends) {
    if (!Is(Token::kName)) Error("tag name expected");
    const std::string tag = Current().text;
    tags_.push_back(tag);
    if (tag == "print") {
      ParsePrint(body);
    } else {
      body.push_back(ParseTag(tag, ends));
    }
    tags_.pop_back();
  }

  StmtPtr ParseTag(const std::string& tag, std::initializer_list<std::string_view> ends) {
    if (tag == "if") return ParseIf();
    if (tag == "for") return ParseFor();
    if (tag == "set") return ParseSet();
    if (tag == "macro") return ParseMacro();
    if (tag == "call") return ParseCallBlock();
    if (tag == "generation") return ParseGeneration();
    if (tag == "filter") return ParseFilterBlock();
    if (tag == "with") return ParseWith();
    if (tag == "break" || tag == "continue") {
      const int line = Next().line;
      if (loops_ == 0) Error("'" + tag + "' outside loop", line);
      return Make(tag == "break" ? StmtKind::kBreak : StmtKind::kContinue, line);
    }
    for (const char* refused : {"include", "import", "from", "extends", "block", "autoescape"}) {
      if (tag == refused) {
        Error("the tag '" + tag + "' is not supported: a chat template stands alone");
      }
    }
    std::string message = "Encountered unknown tag '" + tag + "'.";
    if (ends.size() > 0) {
      message += " Jinja was looking for the following tags: " + Wanted(ends) + ".";
    }
    Error(message);
  }

  void ParsePrint(Body& body) {
    Next();
    for (bool first = true; !Is(Token::kBlockEnd); first = false) {
      if (!first) ExpectOp(",");
      StmtPtr print = Make(StmtKind::kPrint, Current().line);
      print->expr = ParseExpression();
      body.push_back(std::move(print));
    }
  }

  StmtPtr ParseIf() {
    StmtPtr stmt = Make(StmtKind::kIf, Current().line);
    std::string end;
    do {
      Next();
      Branch branch;
      TupleOptions options;
      options.with_condition = false;
      branch.test = ParseTuple(options);
      branch.body = ParseBlock({"elif", "else", "endif"}, false);
      stmt->branches.push_back(std::move(branch));
      end = Current().text;
    } while (end == "elif");
    Next();
    if (end == "else") stmt->else_body = ParseBlock({"endif"}, true);
    return stmt;
  }

  StmtPtr ParseFor() {
    StmtPtr stmt = Make(StmtKind::kFor, Next().line);
    stmt->target = ParseTarget(false, "in");
    if (!SkipName("in")) ErrorExpected("in");
    TupleOptions options;
    options.with_condition = false;
    options.end_name = "recursive";
    stmt->expr = ParseTuple(options);
    if (SkipName("if")) stmt->test = ParseExpression();
    stmt->recursive = SkipName("recursive");
    ++loops_;
    stmt->body = ParseBlock({"endfor", "else"}, false);
    --loops_;
    if (Next().text == "else") stmt->else_body = ParseBlock({"endfor"}, true);
    return stmt;
  }

  StmtPtr ParseSet() {
    StmtPtr stmt = Make(StmtKind::kSet, Next().line);
    stmt->target = ParseTarget(true, {});
    if (SkipOp("=")) {
      stmt->expr = ParseTuple({});
      return stmt;
    }
    stmt->kind = StmtKind::kSetBlock;
    stmt->expr = ParseFilters(nullptr, false);
    stmt->body = ParseBlock({"endset"}, true);
    return stmt;
  }

  void ParseSignature(Stmt& stmt) {
    ExpectOp("(");
    while (!IsOp(")")) {
      if (!stmt.params.empty()) ExpectOp(",");
      Param param;
      const int line = Current().line;
      param.name = ParseTargetName();
      for (const Param& other : stmt.params) {
        if (other.name == param.name) {
          Error("duplicate argument '" + param.name + "' in function definition", line);
        }
      }
      if (SkipOp("=")) {
        param.fallback = ParseExpression();
      } else if (!stmt.params.empty() && stmt.params.back().fallback) {
        Error("non-default argument follows default argument");
      }
      stmt.params.push_back(std::move(param));
    }
    ExpectOp(")");
  }

  // A body that runs as a function: loops around it are out of reach.
  Body ParseFunctionBody(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = ParseBlock({end}, true);
    loops_ = loops;
    return body;
  }

  StmtPtr ParseMacro() {
    StmtPtr stmt = Make(StmtKind::kMacro, Next().line);
    stmt->text = ParseTargetName();
    stmt->target = std::make_unique<Expr>();
    stmt->target->kind = ExprKind::kName;
    stmt->target->name = stmt->text;
    stmt->target->line = stmt->line;
    ParseSignature(*stmt);
    stmt->body = ParseFunctionBody("endmacro");
    return stmt;
  }

  StmtPtr ParseCallBlock() {
    StmtPtr stmt = Make(StmtKind::kCall, Next().line);
    if (IsOp("(")) ParseSignature(*stmt);
    stmt->expr = ParseExpression();
    if (stmt->expr->kind != ExprKind::kCall) Error("expected call", stmt->line);
    stmt->body = ParseFunctionBody("endcall");
    return stmt;
  }

  StmtPtr ParseGeneration() {
    StmtPtr stmt = Make(StmtKind::kCall, Next().line);
    stmt->body = ParseFunctionBody("endgeneration");
    return stmt;
  }

  StmtPtr ParseFilterBlock() {
    StmtPtr stmt = Make(StmtKind::kFilterBlock, Next().line);
    stmt->expr = ParseFilters(nullptr, true);
    stmt->body = ParseBlock({"endfilter"}, true);
    return stmt;
  }

  StmtPtr ParseWith() {
    StmtPtr stmt = Make(StmtKind::kWith, Next().line);
    while (!Is(Token::kBlockEnd)) {
      if (!stmt->bindings.empty()) ExpectOp(",");
      ExprPtr target = ParseTarget(false, {});
      ExpectOp("=");
      stmt->bindings.emplace_back(std::move(target), ParseExpression());
    }
    stmt->body = ParseBlock({"endwith"}, true);
    return stmt;
  }

  std::vector<std::string> tags_;
  int blocks_ = 0;
  int loops_ = 0;
};

}  // namespace

Program ParseTemplate(std::string_view source) { return Parser(Lex(source)).Run(); }

}  // namespace vt::chat
