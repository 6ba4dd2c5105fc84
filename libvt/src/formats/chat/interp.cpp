#include "formats/chat/interp.h"

#include <algorithm>
#include <utility>

#include "formats/chat/budget.h"
#include "formats/chat/builtins.h"
#include "formats/chat/interp_local.h"
#include "formats/chat/print.h"

namespace vt::chat {

Interp::~Interp() {
  for (const auto& env : kept_envs_) env->slots.clear();
  for (const auto& object : kept_) object->Clear();
}

std::string Interp::Run(const Program& program) {
  try {
    std::string out;
    Local root(*this, program.frame, nullptr);
    Enter(program.frame, *root);
    ExecBody(program.body, *root, out);
    return out;
  } catch (TemplateError& error) {
    if (error.line == 0) error.line = line_;
    throw;
  }
}

void Interp::Enter(const Frame& frame, Env& env) {
  for (const Load& load : frame.loads) {
    Value& slot = env.slots[static_cast<std::size_t>(load.slot)];
    switch (load.kind) {
      case LoadKind::kParameter:
        break;
      case LoadKind::kNothing:
        slot = Value();
        break;
      case LoadKind::kOuter: {
        const Env* from = &env;
        for (int i = 0; i < load.outer.up; ++i) from = from->up;
        slot = from->slots[static_cast<std::size_t>(load.outer.slot)];
        break;
      }
      case LoadKind::kContext: {
        const Value* found = context_.Find(load.name);
        if (!found) found = FindGlobal(load.name);
        slot = found ? *found : Value();
        break;
      }
    }
  }
}

Interp::Signal Interp::ExecBody(const Body& body, Env& env, std::string& out) {
  for (const auto& stmt : body) {
    const Signal signal = Exec(*stmt, env, out);
    if (signal != Signal::kNone) return signal;
  }
  return Signal::kNone;
}

Interp::Signal Interp::Exec(const Stmt& stmt, Env& env, std::string& out) {
  ChargeSteps(1);
  line_ = stmt.line;
  switch (stmt.kind) {
    case StmtKind::kText:
      out += stmt.text;
      ChargeBytes(stmt.text.size());
      CheckBytes(out.size());
      break;
    case StmtKind::kPrint:
      AppendStr(out, Eval(*stmt.expr, env));
      CheckBytes(out.size());
      break;
    case StmtKind::kIf:
      return ExecIf(stmt, env, out);
    case StmtKind::kFor:
      ExecFor(stmt, env, out);
      break;
    case StmtKind::kSet: {
      const Value value = Eval(*stmt.expr, env);
      line_ = stmt.line;
      Assign(*stmt.target, value, env);
      break;
    }
    case StmtKind::kSetBlock:
      return ExecSetBlock(stmt, env);
    case StmtKind::kMacro:
      Assign(*stmt.target, Value::Of(Keep(std::make_shared<Macro>(stmt, env))), env);
      break;
    case StmtKind::kCall:
      ExecCall(stmt, env, out);
      break;
    case StmtKind::kFilterBlock:
      return ExecFilterBlock(stmt, env, out);
    case StmtKind::kWith:
      return ExecWith(stmt, env, out);
    case StmtKind::kBreak:
      return Signal::kBreak;
    case StmtKind::kContinue:
      return Signal::kContinue;
  }
  return Signal::kNone;
}

Interp::Signal Interp::ExecIf(const Stmt& stmt, Env& env, std::string& out) {
  const Nested nested(*this);
  for (const Branch& branch : stmt.branches) {
    if (Truthy(Eval(*branch.test, env))) return ExecBody(branch.body, env, out);
  }
  return ExecBody(stmt.else_body, env, out);
}

void Interp::ExecFor(const Stmt& stmt, Env& env, std::string& out) {
  const Value source = Eval(*stmt.expr, env);
  line_ = stmt.line;
  RunLoop(stmt, env, source, 0, out);
}

void Interp::RunLoop(const Stmt& stmt, Env& env, const Value& source, int depth0,
                     std::string& out) {
  const Nested nested(*this);
  Local test_local(*this, stmt.test_frame, &env);
  Loop::Condition keep;
  if (stmt.test) {
    Enter(stmt.test_frame, *test_local);
    keep = [&](const Value& item) {
      Assign(*stmt.target, item, *test_local);
      return Truthy(Eval(*stmt.test, *test_local));
    };
  }
  const auto loop = std::make_shared<Loop>(source, std::move(keep));
  loop->depth0 = depth0;
  loop->env = &env;
  if (stmt.recursive) loop->recursive = &stmt;
  // However the loop is left, its condition must not be asked again: it refers to this call.
  struct StopAtEnd {
    Loop& loop;
    ~StopAtEnd() { loop.Stop(); }
  } const stop{*loop};
  Local local(*this, stmt.frame, &env);
  const bool visible = stmt.loop_slot >= 0;
  if (visible) Keep(loop);
  bool completed = false;
  while (loop->Next()) {
    ChargeSteps(1);
    line_ = stmt.line;
    Assign(*stmt.target, loop->current(), *local);
    if (visible) local->slots[static_cast<std::size_t>(stmt.loop_slot)] = Value::Of(loop);
    Enter(stmt.frame, *local);
    const Signal signal = ExecBody(stmt.body, *local, out);
    if (signal == Signal::kBreak) break;
    if (signal == Signal::kNone) completed = true;
  }
  if (visible) {
    for (Value& slot : local->slots) slot = Value();
    // Most often nothing else holds it.
    if (kept_.back() == loop && loop.use_count() == 2) kept_.pop_back();
  }
  // Jinja runs the else also when every turn was cut short by break or continue.
  if (!completed && !stmt.else_body.empty()) {
    Local otherwise(*this, stmt.else_frame, &env);
    Enter(stmt.else_frame, *otherwise);
    ExecBody(stmt.else_body, *otherwise, out);
  }
}

Interp::Signal Interp::ExecSetBlock(const Stmt& stmt, Env& env) {
  const Nested nested(*this);
  Local local(*this, stmt.frame, &env);
  Enter(stmt.frame, *local);
  std::string text;
  const Signal signal = ExecBody(stmt.body, *local, text);
  if (signal != Signal::kNone) return signal;
  line_ = stmt.line;
  const Value value =
      stmt.expr ? EvalFilter(*stmt.expr, *local, &text) : Value::String(std::move(text));
  Assign(*stmt.target, value, env);
  return Signal::kNone;
}

Interp::Signal Interp::ExecFilterBlock(const Stmt& stmt, Env& env, std::string& out) {
  const Nested nested(*this);
  Local local(*this, stmt.frame, &env);
  Enter(stmt.frame, *local);
  std::string text;
  const Signal signal = ExecBody(stmt.body, *local, text);
  if (signal != Signal::kNone) return signal;
  line_ = stmt.line;
  AppendStr(out, EvalFilter(*stmt.expr, *local, &text));
  CheckBytes(out.size());
  return Signal::kNone;
}

Interp::Signal Interp::ExecWith(const Stmt& stmt, Env& env, std::string& out) {
  const Nested nested(*this);
  Local local(*this, stmt.frame, &env);
  Enter(stmt.frame, *local);
  for (const auto& [target, value] : stmt.bindings) Assign(*target, Eval(*value, env), *local);
  return ExecBody(stmt.body, *local, out);
}

void Interp::ExecCall(const Stmt& stmt, Env& env, std::string& out) {
  const Nested nested(*this);
  if (stmt.expr) {
    const Value caller = Value::Of(Keep(std::make_shared<Macro>(stmt, env)));
    AppendStr(out, EvalCall(*stmt.expr, env, &caller));
    CheckBytes(out.size());
    return;
  }
  // A generation block: its text, in a scope of its own.
  Local local(*this, stmt.frame, &env);
  const auto set = [&](int slot, Value value) {
    if (slot >= 0) local->slots[static_cast<std::size_t>(slot)] = std::move(value);
  };
  set(stmt.caller_slot, UndefinedHint("No caller defined"));
  set(stmt.kwargs_slot, Value::Of(Dict()));
  set(stmt.varargs_slot, Value::Tuple({}));
  Enter(stmt.frame, *local);
  ExecBody(stmt.body, *local, out);
}

void Interp::Assign(const Expr& target, const Value& value, Env& env) {
  if (target.kind == ExprKind::kTuple) {
    if (!IsIterable(value)) {
      Fail(std::string("cannot unpack non-iterable ") + TypeName(value) + " object");
    }
    const Items items(value);
    const std::size_t wanted = target.kids.size();
    if (items.size() > wanted) {
      Fail("too many values to unpack (expected " + std::to_string(wanted) + ")");
    }
    if (items.size() < wanted) {
      Fail("not enough values to unpack (expected " + std::to_string(wanted) + ", got " +
           std::to_string(items.size()) + ")");
    }
    for (std::size_t i = 0; i < wanted; ++i) Assign(*target.kids[i], items[i], env);
    return;
  }
  Env* home = &env;
  for (int i = 0; i < target.ref.up; ++i) home = home->up;
  Value& slot = home->slots[static_cast<std::size_t>(target.ref.slot)];
  if (target.kind == ExprKind::kName) {
    slot = value;
    return;
  }
  auto* space = slot.is(Type::kObject) ? dynamic_cast<Namespace*>(&slot.object()) : nullptr;
  if (!space) Fail("cannot assign attribute on non-namespace object");
  space->attributes.Set(Value::String(target.attr), value);
}

Value Interp::CallLoop(Loop& loop, Call& call) {
  const Bound args = Bind("loop", call, {"iterable"}, 1);
  if (!loop.recursive) {
    Fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  std::string out;
  RunLoop(*loop.recursive, *loop.env, args[0], loop.depth0 + 1, out);
  return Value::String(std::move(out));
}

Value Interp::CallMacro(const Macro& macro, Call& call) {
  const Nested nested(*this);
  const Stmt& stmt = *macro.stmt;
  Local local(*this, stmt.frame, macro.env);
  const auto take = [&](const std::string& name) {
    for (std::size_t i = 0; i < call.kwargs.size(); ++i) {
      if (call.kwargs[i].first != name) continue;
      Value value = std::move(call.kwargs[i].second);
      call.kwargs.erase(call.kwargs.begin() + static_cast<std::ptrdiff_t>(i));
      return value;
    }
    return Value();
  };
  const auto slot = [&](int index) -> Value& {
    return local->slots[static_cast<std::size_t>(index)];
  };
  for (std::size_t i = 0; i < stmt.params.size(); ++i) {
    const Param& param = stmt.params[i];
    slot(param.slot) = i < call.args.size() ? call.args[i] : take(param.name);
  }
  if (stmt.caller_slot >= 0) {
    Value caller = take("caller");
    const bool none = caller.missing() || caller.none();
    slot(stmt.caller_slot) = none ? UndefinedHint("No caller defined") : std::move(caller);
  }
  if (stmt.kwargs_slot >= 0) {
    Dict rest;
    for (auto& [key, value] : call.kwargs) rest.Set(Value::String(key), std::move(value));
    slot(stmt.kwargs_slot) = Value::Of(std::move(rest));
  } else if (!call.kwargs.empty()) {
    for (const auto& [key, value] : call.kwargs) {
      if (key == "caller") {
        Fail("macro '" + stmt.text +
             "' was invoked with two values for the special caller "
             "argument. This is most likely a bug.");
      }
    }
    Fail("macro '" + stmt.text + "' takes no keyword argument '" + call.kwargs[0].first + "'");
  }
  if (stmt.varargs_slot >= 0) {
    const std::size_t named = std::min(stmt.params.size(), call.args.size());
    slot(stmt.varargs_slot) =
        Value::Tuple({call.args.begin() + static_cast<std::ptrdiff_t>(named), call.args.end()});
  } else if (call.args.size() > stmt.params.size()) {
    Fail("macro '" + stmt.text + "' takes not more than " + std::to_string(stmt.params.size()) +
         " argument(s)");
  }
  Enter(stmt.frame, *local);
  for (const Param& param : stmt.params) {
    if (!slot(param.slot).missing()) continue;
    slot(param.slot) = param.fallback
                           ? Eval(*param.fallback, *local)
                           : UndefinedHint("parameter '" + param.name + "' was not provided");
  }
  std::string out;
  ExecBody(stmt.body, *local, out);
  return Value::String(std::move(out));
}

}  // namespace vt::chat
