// What may stand behind `is`.
#include <algorithm>

#include "formats/chat/arith.h"
#include "formats/chat/budget.h"
#include "formats/chat/builtins.h"
#include "formats/chat/compare.h"
#include "formats/chat/print.h"
#include "formats/chat/strings.h"

namespace vt::chat {
namespace {

using Predicate = bool (*)(const Value& v);

template <Predicate kPredicate>
bool Simple(Interp&, Call& call) {
  return kPredicate(Bind("test", call, {"value"}, 1)[0]);
}

template <Op kOp>
bool Comparison(Interp&, Call& call) {
  const Bound args = Bind("test", call, {"value", "other"}, 2);
  return Compare(kOp, args[0], args[1]);
}

bool IsDefined(const Value& v) { return !v.undefined(); }
bool IsUndefined(const Value& v) { return v.undefined(); }
bool IsNone(const Value& v) { return v.none(); }
bool IsBoolean(const Value& v) { return v.is(Type::kBool); }
bool IsTrue(const Value& v) { return v.is(Type::kBool) && v.boolean(); }
bool IsFalse(const Value& v) { return v.is(Type::kBool) && !v.boolean(); }
bool IsInteger(const Value& v) { return v.is(Type::kInt); }
bool IsFloat(const Value& v) { return v.is(Type::kFloat); }
bool IsNumber(const Value& v) { return v.is_number(); }
bool IsString(const Value& v) { return v.is_string(); }
bool IsMapping(const Value& v) { return v.is(Type::kDict); }
bool IsSequence(const Value& v) {
  return v.undefined() || v.is_string() || v.is(Type::kDict) ||
         (v.is(Type::kSeq) && v.seq().kind <= SeqKind::kRange);
}
bool IsCallable(const Value& v) {
  return v.undefined() || (v.is(Type::kObject) && v.object().Callable());
}
bool IsLowerText(const Value& v) { return HasOnlyCase(ToStr(v), false); }
bool IsUpperText(const Value& v) { return HasOnlyCase(ToStr(v), true); }

bool Remainder(const Value& v, const Value& divisor, Int rest) {
  return Equal(Arithmetic(Op::kMod, v, divisor), Value::Integer(rest));
}
bool IsOdd(const Value& v) { return Remainder(v, Value::Integer(2), 1); }
bool IsEven(const Value& v) { return Remainder(v, Value::Integer(2), 0); }

bool DivisibleBy(Interp&, Call& call) {
  const Bound args = Bind("divisibleby", call, {"value", "num"}, 2);
  return Remainder(args[0], args[1], 0);
}

bool SameAs(Interp&, Call& call) {
  const Bound args = Bind("sameas", call, {"value", "other"}, 2);
  return Identical(args[0], args[1]);
}

bool IsIn(Interp&, Call& call) {
  const Bound args = Bind("in", call, {"value", "seq"}, 2);
  return Contains(args[1], args[0]);
}

bool IsFilterName(const Value& v) { return v.is_string() && FindFilter(v.str()); }
bool IsTestName(const Value& v) { return v.is_string() && FindTest(v.str()); }

constexpr NamedTest kTests[] = {
    {"!=", Comparison<Op::kNe>},
    {"<", Comparison<Op::kLt>},
    {"<=", Comparison<Op::kLe>},
    {"==", Comparison<Op::kEq>},
    {">", Comparison<Op::kGt>},
    {">=", Comparison<Op::kGe>},
    {"boolean", Simple<IsBoolean>},
    {"callable", Simple<IsCallable>},
    {"defined", Simple<IsDefined>},
    {"divisibleby", DivisibleBy},
    {"eq", Comparison<Op::kEq>},
    {"equalto", Comparison<Op::kEq>},
    {"escaped", Simple<IsMarkup>},
    {"even", Simple<IsEven>},
    {"false", Simple<IsFalse>},
    {"filter", Simple<IsFilterName>},
    {"float", Simple<IsFloat>},
    {"ge", Comparison<Op::kGe>},
    {"greaterthan", Comparison<Op::kGt>},
    {"gt", Comparison<Op::kGt>},
    {"in", IsIn},
    {"integer", Simple<IsInteger>},
    {"iterable", Simple<IsIterable>},
    {"le", Comparison<Op::kLe>},
    {"lessthan", Comparison<Op::kLt>},
    {"lower", Simple<IsLowerText>},
    {"lt", Comparison<Op::kLt>},
    {"mapping", Simple<IsMapping>},
    {"ne", Comparison<Op::kNe>},
    {"none", Simple<IsNone>},
    {"number", Simple<IsNumber>},
    {"odd", Simple<IsOdd>},
    {"sameas", SameAs},
    {"sequence", Simple<IsSequence>},
    {"string", Simple<IsString>},
    {"test", Simple<IsTestName>},
    {"true", Simple<IsTrue>},
    {"undefined", Simple<IsUndefined>},
    {"upper", Simple<IsUpperText>},
};

}  // namespace

TestFn FindTest(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const NamedTest& t) { return t.name == name; });
  return found == std::end(kTests) ? nullptr : found->test;
}

}  // namespace vt::chat
