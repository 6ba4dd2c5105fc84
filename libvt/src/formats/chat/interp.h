// Runs a resolved template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/chat/ast.h"
#include "formats/chat/objects.h"

namespace vt::chat {

// The variables of one entered frame.
struct Env {
  Env* up = nullptr;
  std::vector<Value> slots;
};

class Interp {
 public:
  // `context` outlives the interpreter. `now`: seconds since 1970 in UTC.
  Interp(const Dict& context, std::int64_t now) : context_(context), now_(now) {}
  ~Interp();
  Interp(const Interp&) = delete;
  Interp& operator=(const Interp&) = delete;

  // Throws TemplateError with a line.
  std::string Run(const Program& program);

  Value CallValue(const Value& callee, Call& call);
  std::int64_t now() const { return now_; }
  // Keeps an object that can be part of a cycle to the end of the render.
  template <class T>
  std::shared_ptr<T> Keep(std::shared_ptr<T> object) {
    kept_.push_back(object);
    return object;
  }

 private:
  enum class Signal : std::uint8_t { kNone, kBreak, kContinue };
  class Nested;
  class Local;

  Signal ExecBody(const Body& body, Env& env, std::string& out);
  Signal Exec(const Stmt& stmt, Env& env, std::string& out);
  Signal ExecIf(const Stmt& stmt, Env& env, std::string& out);
  void ExecFor(const Stmt& stmt, Env& env, std::string& out);
  void RunLoop(const Stmt& stmt, Env& env, const Value& source, int depth0, std::string& out);
  Signal ExecSetBlock(const Stmt& stmt, Env& env);
  Signal ExecFilterBlock(const Stmt& stmt, Env& env, std::string& out);
  Signal ExecWith(const Stmt& stmt, Env& env, std::string& out);
  void ExecCall(const Stmt& stmt, Env& env, std::string& out);
  void Assign(const Expr& target, const Value& value, Env& env);
  void Enter(const Frame& frame, Env& env);

  Value Eval(const Expr& e, Env& env);
  Value EvalItems(const Expr& e, Env& env);
  Value EvalOperator(const Expr& e, Env& env);
  Value EvalCompare(const Expr& e, Env& env);
  Value EvalCond(const Expr& e, Env& env);
  Value EvalAccess(const Expr& e, Env& env);
  Value EvalCall(const Expr& e, Env& env, const Value* caller);
  Value EvalFilter(const Expr& e, Env& env, const std::string* block_text);
  Value EvalTest(const Expr& e, Env& env);
  void EvalArgs(const CallArgs& args, Env& env, Call& call);
  Value CallMacro(const Macro& macro, Call& call);
  Value CallLoop(Loop& loop, Call& call);

  const Dict& context_;
  std::int64_t now_;
  int line_ = 0;
  int depth_ = 0;
  std::vector<std::shared_ptr<Object>> kept_;
  std::vector<std::unique_ptr<Env>> kept_envs_;
};

}  // namespace vt::chat
