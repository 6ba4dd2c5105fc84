// What namespaces, macros, loops, cyclers, lists and dicts offer by name.
#include <algorithm>

#include "formats/chat/ast.h"
#include "formats/chat/budget.h"
#include "formats/chat/compare.h"
#include "formats/chat/objects.h"
#include "formats/chat/print.h"

namespace vt::chat {
namespace {

Value View(SeqKind kind, std::vector<Value> items) {
  Seq seq;
  seq.kind = kind;
  seq.items = std::move(items);
  return Value::Of(std::move(seq));
}

Value DictGet(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("get", call, {"key", "default"}, 1);
  if (const Value* found = self.dict().Find(args[0])) return *found;
  return args[1].missing() ? Value::None() : args[1];
}

Value DictItems(Interp&, const Value& self, Call& call) {
  Bind("items", call, {}, 0);
  std::vector<Value> pairs;
  pairs.reserve(self.dict().size());
  for (const auto& [key, value] : self.dict().items()) pairs.push_back(Value::Tuple({key, value}));
  return View(SeqKind::kItems, std::move(pairs));
}

Value DictKeys(Interp&, const Value& self, Call& call) {
  Bind("keys", call, {}, 0);
  return View(SeqKind::kKeys, Items(self).ToVector());
}

Value DictValues(Interp&, const Value& self, Call& call) {
  Bind("values", call, {}, 0);
  std::vector<Value> values;
  values.reserve(self.dict().size());
  for (const auto& [key, value] : self.dict().items()) values.push_back(value);
  return View(SeqKind::kValues, std::move(values));
}

Value Copy(Interp&, const Value& self, Call& call) {
  Bind("copy", call, {}, 0);
  if (self.is(Type::kDict)) return Value::Of(Dict(self.dict()));
  return Value::List(self.seq().items);
}

Value SeqIndex(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("index", call, {"value", "start", "stop"}, 1);
  const std::vector<Value>& items = self.seq().items;
  const Int size = static_cast<Int>(items.size());
  const auto bound = [&](const Value& v, Int fallback) {
    Int i = IntArgOr("index", v, fallback);
    if (i < 0) i = std::max<Int>(i + size, 0);
    return std::min(i, size);
  };
  const Int stop = bound(args[2], size);
  for (Int i = bound(args[1], 0); i < stop; ++i) {
    if (Equal(items[static_cast<std::size_t>(i)], args[0])) return Value::Integer(i);
  }
  Fail(Repr(args[0]) + " is not in " + TypeName(self));
}

Value SeqCount(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("count", call, {"value"}, 1);
  Int count = 0;
  for (const Value& item : self.seq().items) count += Equal(item, args[0]);
  return Value::Integer(count);
}

Value LoopCycle(Interp&, const Value& self, Call& call) {
  if (call.args.empty()) Fail("no items for cycling given");
  const auto& loop = static_cast<const Loop&>(self.object());
  return call.args[loop.index0() % call.args.size()];
}

Value LoopChanged(Interp&, const Value& self, Call& call) {
  auto& loop = static_cast<Loop&>(self.object());
  Value seen = Value::Tuple(call.args);
  const bool changed = loop.last_changed.missing() || !Equal(loop.last_changed, seen);
  loop.last_changed = std::move(seen);
  return Value::Bool(changed);
}

Value CyclerNext(Interp&, const Value& self, Call& call) {
  Bind("next", call, {}, 0);
  auto& cycler = static_cast<Cycler&>(self.object());
  Value value = cycler.items[cycler.pos];
  cycler.pos = (cycler.pos + 1) % cycler.items.size();
  return value;
}

Value CyclerReset(Interp&, const Value& self, Call& call) {
  Bind("reset", call, {}, 0);
  static_cast<Cycler&>(self.object()).pos = 0;
  return Value::None();
}

constexpr NamedFn kDictMethods[] = {
    {"copy", Copy},     {"get", DictGet},       {"items", DictItems},
    {"keys", DictKeys}, {"values", DictValues},
};
constexpr NamedFn kSeqMethods[] = {{"count", SeqCount}, {"index", SeqIndex}};
constexpr NamedFn kListCopy = {"copy", Copy};
constexpr NamedFn kLoopMethods[] = {{"changed", LoopChanged}, {"cycle", LoopCycle}};
constexpr NamedFn kCyclerMethods[] = {{"next", CyclerNext}, {"reset", CyclerReset}};

template <std::size_t N>
const NamedFn* FindIn(const NamedFn (&table)[N], std::string_view name) {
  const auto* found =
      std::find_if(table, table + N, [&](const NamedFn& fn) { return fn.name == name; });
  return found == table + N ? nullptr : found;
}

}  // namespace

const NamedFn* FindDictMethod(std::string_view name) { return FindIn(kDictMethods, name); }

const NamedFn* FindSeqMethod(SeqKind kind, std::string_view name) {
  if (kind == SeqKind::kList && name == kListCopy.name) return &kListCopy;
  return kind <= SeqKind::kRange ? FindIn(kSeqMethods, name) : nullptr;
}

const NamedFn* FindObjectMethod(const Object& object, std::string_view name) {
  if (dynamic_cast<const Loop*>(&object)) return FindIn(kLoopMethods, name);
  return dynamic_cast<const Cycler*>(&object) ? FindIn(kCyclerMethods, name) : nullptr;
}

std::string Namespace::Repr() const {
  if (in_repr_) return "<Namespace {...}>";
  struct Busy {
    bool& flag;
    explicit Busy(bool& f) : flag(f) { flag = true; }
    ~Busy() { flag = false; }
  } const busy(in_repr_);
  return "<Namespace " + vt::chat::Repr(Value::Of(Dict(attributes))) + ">";
}

std::string Macro::Repr() const {
  return stmt->kind == StmtKind::kMacro ? "<Macro " + ReprString(stmt->text) + ">"
                                        : "<Macro anonymous>";
}

Value MacroAttribute(const Macro& macro, std::string_view name) {
  const Stmt& stmt = *macro.stmt;
  if (name == "name") {
    return stmt.kind == StmtKind::kMacro ? Value::String(stmt.text) : Value::None();
  }
  if (name == "arguments") {
    std::vector<Value> names;
    for (const Param& param : stmt.params) names.push_back(Value::String(param.name));
    return Value::Tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value::Bool(stmt.kwargs_slot >= 0);
  if (name == "catch_varargs") return Value::Bool(stmt.varargs_slot >= 0);
  if (name == "caller") return Value::Bool(stmt.caller_slot >= 0);
  return {};
}

bool Loop::Pull(Value& item) {
  while (at_ < items_.size()) {
    const Value& next = items_[at_++];
    if (keep_ && !keep_(next)) continue;
    item = next;
    return true;
  }
  return false;
}

bool Loop::Next() {
  Value item;
  if (!ahead_.empty()) {
    item = std::move(ahead_.front());
    ahead_.pop_front();
  } else if (!Pull(item)) {
    return false;
  }
  if (started_) ++index0_;
  started_ = true;
  before_ = std::move(current_);
  current_ = std::move(item);
  return true;
}

void Loop::Stop() {
  if (stopped_) return;
  final_length_ = keep_ ? (started_ ? index0_ + 1 : 0) + ahead_.size() : items_.size();
  stopped_ = true;
  keep_ = nullptr;
  items_.UsedOnly(at_);
}

const Value* Loop::Peek() {
  if (ahead_.empty()) {
    Value item;
    if (stopped_ || !Pull(item)) return nullptr;
    ahead_.push_back(std::move(item));
  }
  return &ahead_.front();
}

std::size_t Loop::Length() {
  if (stopped_) return final_length_;
  if (!keep_) return items_.size();
  for (Value item; Pull(item);) ahead_.push_back(std::move(item));
  return index0_ + 1 + ahead_.size();
}

Value Loop::Previous() const {
  return index0_ == 0 ? UndefinedHint("there is no previous item") : before_;
}

void Loop::Clear() {
  Stop();
  ahead_.clear();
  current_ = before_ = last_changed = Value();
}

std::string Loop::Repr() const {
  const std::size_t length = stopped_ ? final_length_ : const_cast<Loop*>(this)->Length();
  return "<LoopContext " + std::to_string(index0_ + 1) + "/" + std::to_string(length) + ">";
}

Value LoopAttribute(Loop& loop, std::string_view name) {
  const std::size_t index0 = loop.index0();
  if (name == "index") return Value::Size(index0 + 1);
  if (name == "index0") return Value::Size(index0);
  if (name == "first") return Value::Bool(index0 == 0);
  if (name == "last") return Value::Bool(loop.Peek() == nullptr);
  if (name == "length") return Value::Size(loop.Length());
  if (name == "revindex") return Value::Size(loop.Length() - index0);
  if (name == "revindex0") return Value::Size(loop.Length() - index0 - 1);
  if (name == "depth") return Value::Integer(loop.depth0 + 1);
  if (name == "depth0") return Value::Integer(loop.depth0);
  if (name == "previtem") return loop.Previous();
  if (name == "nextitem") {
    const Value* next = loop.Peek();
    return next ? *next : UndefinedHint("there is no next item");
  }
  return {};
}

}  // namespace vt::chat
