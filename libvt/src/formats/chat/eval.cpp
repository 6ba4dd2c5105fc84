// Expressions.
#include <utility>

#include "formats/chat/budget.h"
#include "formats/chat/compare.h"
#include "formats/chat/interp.h"
#include "formats/chat/interp_local.h"
#include "formats/chat/print.h"

namespace vt::chat {

Value Interp::Eval(const Expr& e, Env& env) {
  ChargeSteps(1);
  switch (e.kind) {
    case ExprKind::kConst:
      return e.value;
    case ExprKind::kName: {
      const Env* home = &env;
      for (int i = 0; i < e.ref.up; ++i) home = home->up;
      const Value& value = home->slots[static_cast<std::size_t>(e.ref.slot)];
      return value.missing() ? UndefinedVariable(e.name) : value;
    }
    default:
      break;
  }
  const Nested nested(*this);
  switch (e.kind) {
    case ExprKind::kTuple:
    case ExprKind::kList:
    case ExprKind::kDict:
      return EvalItems(e, env);
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kConcat:
      return EvalOperator(e, env);
    case ExprKind::kAnd: {
      Value left = Eval(*e.kids[0], env);
      return Truthy(left) ? Eval(*e.kids[1], env) : left;
    }
    case ExprKind::kOr: {
      Value left = Eval(*e.kids[0], env);
      return Truthy(left) ? left : Eval(*e.kids[1], env);
    }
    case ExprKind::kCompare:
      return EvalCompare(e, env);
    case ExprKind::kCond:
      return EvalCond(e, env);
    case ExprKind::kGetAttr:
    case ExprKind::kGetItem:
    case ExprKind::kSlice:
      return EvalAccess(e, env);
    case ExprKind::kCall:
      return EvalCall(e, env, nullptr);
    case ExprKind::kFilter:
      return EvalFilter(e, env, nullptr);
    case ExprKind::kTest:
      return EvalTest(e, env);
    default:
      Fail("an assignment target cannot be read");
  }
}

Value Interp::EvalItems(const Expr& e, Env& env) {
  if (e.kind == ExprKind::kDict) {
    Dict dict;
    for (std::size_t i = 0; i + 1 < e.kids.size(); i += 2) {
      Value key = Eval(*e.kids[i], env);
      Value value = Eval(*e.kids[i + 1], env);
      line_ = e.line;
      dict.Set(std::move(key), std::move(value));
    }
    return Value::Of(std::move(dict));
  }
  std::vector<Value> items;
  items.reserve(e.kids.size());
  for (const ExprPtr& kid : e.kids) items.push_back(Eval(*kid, env));
  line_ = e.line;
  return e.kind == ExprKind::kList ? Value::List(std::move(items)) : Value::Tuple(std::move(items));
}

Value Interp::EvalOperator(const Expr& e, Env& env) {
  if (e.kind == ExprKind::kConcat) {
    std::string out;
    for (const ExprPtr& kid : e.kids) {
      AppendStr(out, Eval(*kid, env));
      line_ = e.line;
      CheckBytes(out.size());
    }
    ChargeBytes(out.size());
    return Value::String(std::move(out));
  }
  const Value left = Eval(*e.kids[0], env);
  if (e.kind == ExprKind::kUnary) {
    line_ = e.line;
    if (e.op == Op::kNot) return Value::Bool(!Truthy(left));
    return e.op == Op::kNegate ? Negate(left) : Plus(left);
  }
  const Value right = Eval(*e.kids[1], env);
  line_ = e.line;
  return Arithmetic(e.op, left, right);
}

Value Interp::EvalCompare(const Expr& e, Env& env) {
  Value left = Eval(*e.kids[0], env);
  for (std::size_t i = 0; i < e.ops.size(); ++i) {
    Value right = Eval(*e.kids[i + 1], env);
    line_ = e.line;
    if (!Compare(e.ops[i], left, right)) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Value Interp::EvalCond(const Expr& e, Env& env) {
  if (Truthy(Eval(*e.kids[1], env))) return Eval(*e.kids[0], env);
  if (e.kids[2]) return Eval(*e.kids[2], env);
  return UndefinedHint("the inline if-expression on line " + std::to_string(e.line) +
                       " evaluated to false and no else section was defined.");
}

Value Interp::EvalAccess(const Expr& e, Env& env) {
  const Value object = Eval(*e.kids[0], env);
  if (e.kind == ExprKind::kGetAttr) {
    line_ = e.line;
    return GetAttr(object, e.name);
  }
  const auto bound = [&](std::size_t i) { return e.kids[i] ? Eval(*e.kids[i], env) : Value(); };
  const Value first = bound(1);
  if (e.kind == ExprKind::kGetItem) {
    line_ = e.line;
    return GetItem(object, first);
  }
  const Value stop = bound(2);
  const Value step = bound(3);
  line_ = e.line;
  return GetSlice(object, first, stop, step);
}

void Interp::EvalArgs(const CallArgs& args, Env& env, Call& call) {
  for (const ExprPtr& arg : args.args) call.args.push_back(Eval(*arg, env));
  if (args.star) {
    const Items items(Eval(*args.star, env));
    call.args.insert(call.args.end(), items.begin(), items.end());
  }
  for (const auto& [key, value] : args.kwargs) call.kwargs.emplace_back(key, Eval(*value, env));
  if (!args.star_star) return;
  const Value more = Eval(*args.star_star, env);
  if (!more.is(Type::kDict)) {
    Fail(std::string("argument after ** must be a mapping, not ") + TypeName(more));
  }
  ChargeSteps(more.dict().size());
  for (const auto& [key, value] : more.dict().items()) {
    if (!key.is_string()) Fail("keywords must be strings");
    for (const auto& [name, other] : args.kwargs) {
      if (name == key.str()) Fail("got multiple values for keyword argument '" + name + "'");
    }
    call.kwargs.emplace_back(key.str(), value);
  }
}

Value Interp::EvalCall(const Expr& e, Env& env, const Value* caller) {
  const Expr& target = *e.kids[0];
  Call call;
  Value callee;
  Value self;
  const NamedFn* method = nullptr;
  if (target.kind == ExprKind::kGetAttr) {
    // The common case of a method needs no bound object.
    self = Eval(*target.kids[0], env);
    if (self.is_string()) {
      method = FindStringMethod(target.name);
    } else if (self.is(Type::kDict)) {
      method = FindDictMethod(target.name);
    }
    line_ = target.line;
    if (!method) callee = GetAttr(self, target.name);
  } else {
    callee = Eval(target, env);
  }
  EvalArgs(*e.args, env, call);
  if (caller) {
    for (const auto& [key, value] : call.kwargs) {
      if (key == "caller") Fail("got multiple values for keyword argument 'caller'");
    }
    call.kwargs.emplace_back("caller", *caller);
  }
  line_ = e.line;
  return method ? method->call(*this, self, call) : CallValue(callee, call);
}

Value Interp::CallValue(const Value& callee, Call& call) {
  if (callee.undefined()) FailUndefined(callee);
  if (callee.is(Type::kObject)) {
    Object& object = callee.object();
    if (auto* function = dynamic_cast<Function*>(&object)) {
      return function->call(*this, function->self, call);
    }
    if (auto* macro = dynamic_cast<Macro*>(&object)) return CallMacro(*macro, call);
    if (auto* loop = dynamic_cast<Loop*>(&object)) return CallLoop(*loop, call);
    if (auto* joiner = dynamic_cast<Joiner*>(&object)) {
      Bind("joiner", call, {}, 0);
      return std::exchange(joiner->used, true) ? joiner->sep : Value::String("");
    }
  }
  Fail(std::string("'") + TypeName(callee) + "' object is not callable");
}

Value Interp::EvalFilter(const Expr& e, Env& env, const std::string* block_text) {
  Call call;
  if (!e.kids[0]) {
    call.args.push_back(Value::String(*block_text));
  } else if (e.kids[0]->kind == ExprKind::kFilter) {
    const Nested nested(*this);
    call.args.push_back(EvalFilter(*e.kids[0], env, block_text));
  } else {
    call.args.push_back(Eval(*e.kids[0], env));
  }
  if (e.args) EvalArgs(*e.args, env, call);
  line_ = e.line;
  if (!e.filter) Fail("No filter named '" + e.name + "' found.");
  return e.filter(*this, call);
}

Value Interp::EvalTest(const Expr& e, Env& env) {
  Call call;
  call.args.push_back(Eval(*e.kids[0], env));
  if (e.args) EvalArgs(*e.args, env, call);
  line_ = e.line;
  if (!e.test) Fail("No test named '" + e.name + "' found.");
  return Value::Bool(e.test(*this, call));
}

}  // namespace vt::chat
