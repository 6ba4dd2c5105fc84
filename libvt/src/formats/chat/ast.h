// The syntax tree of a template, with every variable resolved to a place in a frame.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/chat/arith.h"
#include "formats/chat/call.h"
#include "formats/chat/value.h"

namespace vt::chat {

// A variable: `slot` of the frame `up` levels out.
struct Ref {
  int up = 0;
  int slot = -1;
};

enum class ExprKind : std::uint8_t {
  kConst,    // value
  kName,     // name, ref
  kAttrRef,  // name.attr of a namespace, as an assignment target: name, ref, attr
  kTuple,    // kids
  kList,     // kids
  kDict,     // kids: key, value, key, value...
  kUnary,    // op, kids[0]
  kBinary,   // op, kids[0], kids[1]
  kAnd,      // kids[0], kids[1]
  kOr,
  kConcat,   // kids
  kCompare,  // kids[0] ops[0] kids[1] ops[1] kids[2]...
  kCond,     // kids: then, test, else (may be null)
  kGetAttr,  // kids[0].name
  kGetItem,  // kids[0][kids[1]]
  kSlice,    // kids[0][kids[1]:kids[2]:kids[3]], bounds may be null
  kCall,     // kids[0](args)
  kFilter,   // kids[0] | name(args); kids[0] null: the text of the block
  kTest,     // kids[0] is name(args)
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArgs {
  std::vector<ExprPtr> args;
  std::vector<std::pair<std::string, ExprPtr>> kwargs;
  ExprPtr star;       // *args
  ExprPtr star_star;  // **kwargs
};

using FilterFn = Value (*)(Interp& in, Call& call);
using TestFn = bool (*)(Interp& in, Call& call);

struct Expr {
  ExprKind kind = ExprKind::kConst;
  Op op = Op::kAdd;
  int line = 0;
  int depth = 1;
  Value value;
  std::string name;
  std::string attr;
  Ref ref;
  std::vector<ExprPtr> kids;
  std::vector<Op> ops;
  std::unique_ptr<CallArgs> args;
  FilterFn filter = nullptr;  // null for an unknown name, which fails when it is reached
  TestFn test = nullptr;
};

// How a variable of a frame gets its value when the frame is entered.
enum class LoadKind : std::uint8_t {
  kParameter,  // whoever enters the frame sets it
  kContext,    // looked up by name in the context, then the globals
  kOuter,      // a copy of the variable `outer`
  kNothing,    // starts without value
};

struct Load {
  LoadKind kind = LoadKind::kNothing;
  int slot = 0;
  Ref outer;  // as seen from this frame
  std::string name;
};

struct Frame {
  int slots = 0;
  std::vector<Load> loads;
  bool captured = false;  // a macro may refer to it after it is left
};

enum class StmtKind : std::uint8_t {
  kText,         // text
  kPrint,        // expr
  kIf,           // branches, else_body
  kFor,          // target in expr if test; body, else_body
  kSet,          // target = expr
  kSetBlock,     // target = body, through expr (a filter chain) if any
  kMacro,        // target = macro
  kCall,         // expr called with the block as its caller; expr null: a generation block
  kFilterBlock,  // body through expr
  kWith,         // targets = values; body
  kBreak,
  kContinue,
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Branch {
  ExprPtr test;
  Body body;
};

struct Param {
  std::string name;
  int slot = -1;
  ExprPtr fallback;
};

struct Stmt {
  StmtKind kind = StmtKind::kText;
  int line = 0;
  std::string text;  // kText; kMacro: its name
  ExprPtr target;
  ExprPtr expr;
  ExprPtr test;
  Body body;
  Body else_body;
  std::vector<Branch> branches;
  std::vector<std::pair<ExprPtr, ExprPtr>> bindings;  // kWith
  std::vector<Param> params;                          // kMacro, kCall
  bool recursive = false;
  int loop_slot = -1;    // kFor: where `loop` lives, if it is used
  int caller_slot = -1;  // kMacro, kCall: implicit parameters, if used
  int kwargs_slot = -1;
  int varargs_slot = -1;
  bool explicit_caller = false;  // kMacro, kCall: a parameter is called `caller`
  Frame frame;                   // of the body
  Frame test_frame;              // kFor
  Frame else_frame;              // kFor
};

struct Program {
  Body body;
  Frame frame;
};

}  // namespace vt::chat
