#include "formats/chat/objects.h"

#include <algorithm>
#include <limits>

#include "formats/chat/ast.h"
#include "formats/chat/budget.h"
#include "formats/chat/print.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

Value UndefinedAttribute(const Value& obj, std::string_view name) {
  Undef undef;
  undef.owner = TypeName(obj);
  undef.name = name;
  return Value::Of(std::move(undef));
}

Value UnsafeAttribute(const Value& obj, std::string_view name) {
  return UndefinedHint("access to attribute '" + std::string(name) + "' of '" + TypeName(obj) +
                       "' object is unsafe.");
}

Value BoundMethod(const NamedFn& fn, const Value& self) {
  return Value::Of(std::make_shared<Function>(fn.name, fn.call, self));
}

bool Changes(const Value& obj, std::string_view name) {
  constexpr std::string_view kList[] = {"append", "clear", "pop",    "reverse",
                                        "insert", "sort",  "extend", "remove"};
  constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (obj.is(Type::kDict)) return in(kDict);
  return obj.is(Type::kSeq) && obj.seq().kind == SeqKind::kList && in(kList);
}

// What the object has under that name, without its items; missing when there is nothing.
Value Attribute(const Value& obj, std::string_view name) {
  const NamedFn* method = nullptr;
  switch (obj.type()) {
    case Type::kString:
      method = FindStringMethod(name);
      break;
    case Type::kDict:
      method = FindDictMethod(name);
      break;
    case Type::kSeq: {
      const Seq& seq = obj.seq();
      if (seq.kind == SeqKind::kGroup && name == "grouper") return seq.items[0];
      if (seq.kind == SeqKind::kGroup && name == "list") return seq.items[1];
      if (seq.kind == SeqKind::kRange) {
        if (name == "start") return Value::Integer(seq.range[0]);
        if (name == "stop") return Value::Integer(seq.range[1]);
        if (name == "step") return Value::Integer(seq.range[2]);
      }
      method = FindSeqMethod(seq.kind, name);
      break;
    }
    case Type::kBool:
    case Type::kInt:
      if (name == "real" || name == "numerator") return Value::Integer(obj.integer());
      if (name == "imag") return Value::Integer(0);
      if (name == "denominator") return Value::Integer(1);
      break;
    case Type::kFloat:
      if (name == "real") return obj;
      if (name == "imag") return Value::Float(0);
      break;
    case Type::kObject:
      if (const auto* space = dynamic_cast<const Namespace*>(&obj.object())) {
        const Value* found = space->attributes.Find(name);
        if (!found) return {};
        return name.substr(0, 1) == "_" ? UnsafeAttribute(obj, name) : *found;
      }
      if (auto* loop = dynamic_cast<Loop*>(&obj.object())) {
        const Value found = LoopAttribute(*loop, name);
        if (!found.missing()) return found;
      }
      if (const auto* macro = dynamic_cast<const Macro*>(&obj.object())) {
        const Value found = MacroAttribute(*macro, name);
        if (!found.missing()) return found;
      }
      if (const auto* cycler = dynamic_cast<const Cycler*>(&obj.object())) {
        if (name == "current") return cycler->items[cycler->pos];
        if (name == "pos") return Value::Size(cycler->pos);
        if (name == "items") return Value::Tuple(cycler->items);
      }
      if (const auto* joiner = dynamic_cast<const Joiner*>(&obj.object())) {
        if (name == "sep") return joiner->sep;
        if (name == "used") return Value::Bool(joiner->used);
      }
      method = FindObjectMethod(obj.object(), name);
      break;
    default:
      break;
  }
  if (method) return BoundMethod(*method, obj);
  const bool internal =
      name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__";
  if (internal || Changes(obj, name)) return UnsafeAttribute(obj, name);
  return {};
}

// Where slices begin, and how they go on; `count` items.
struct SliceWalk {
  Int first = 0;
  Int last = 0;  // the first index behind it
  Int step = 1;
  std::size_t count = 0;
};

SliceWalk WalkOf(std::size_t size, const Value& start, const Value& stop, const Value& step) {
  const auto index = [](const Value& v, Int fallback) {
    if (v.missing() || v.none()) return fallback;
    if (v.undefined()) FailUndefined(v);
    if (!v.is_integral()) {
      Fail("slice indices must be integers or None or have an __index__ method");
    }
    // Beyond any length; keeps the sums below in range.
    constexpr Int kFar = std::numeric_limits<std::int64_t>::max();
    return std::clamp(v.integer(), -kFar, kFar);
  };
  SliceWalk walk;
  walk.step = index(step, 1);
  if (walk.step == 0) Fail("slice step cannot be zero");
  const Int length = static_cast<Int>(size);
  const bool back = walk.step < 0;
  const auto bound = [&](const Value& v, Int fallback) {
    Int i = index(v, fallback);
    if (v.missing() || v.none()) return i;
    if (i < 0) i += length;
    return std::clamp<Int>(i, back ? -1 : 0, back ? length - 1 : length);
  };
  walk.first = bound(start, back ? length - 1 : 0);
  walk.last = bound(stop, back ? -1 : length);
  const Int span = back ? walk.first - walk.last : walk.last - walk.first;
  const Int stride = back ? -walk.step : walk.step;
  if (span > 0) walk.count = static_cast<std::size_t>((span - 1) / stride + 1);
  return walk;
}

Value SliceString(const Value& obj, const SliceWalk& walk) {
  const std::string& text = obj.str();
  ChargeBytes(text.size());
  std::string out;
  if (walk.step == 1) {
    const std::size_t first = ByteOffset(text, static_cast<std::size_t>(walk.first));
    const std::string_view rest = std::string_view(text).substr(first);
    out = rest.substr(0, ByteOffset(rest, walk.count));
  } else {
    std::vector<std::string_view> chars;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t bytes = DecodeAt(text, i).bytes;
      chars.push_back(std::string_view(text).substr(i, bytes));
      i += bytes;
    }
    for (std::size_t i = 0; i < walk.count; ++i) {
      out += chars[static_cast<std::size_t>(walk.first + static_cast<Int>(i) * walk.step)];
    }
  }
  return IsMarkup(obj) ? Value::Markup(std::move(out)) : Value::String(std::move(out));
}

// obj[i] for a sequence; missing when out of range.
Value ElementAt(const Value& obj, Int i) {
  if (obj.is_string()) {
    const std::string& text = obj.str();
    const Int length = static_cast<Int>(CountChars(text));
    if (i < 0) i += length;
    if (i < 0 || i >= length) return {};
    const std::size_t at = ByteOffset(text, static_cast<std::size_t>(i));
    std::string c = text.substr(at, DecodeAt(text, at).bytes);
    ChargeBytes(text.size());
    return IsMarkup(obj) ? Value::Markup(std::move(c)) : Value::String(std::move(c));
  }
  const std::vector<Value>& items = obj.seq().items;
  const Int length = static_cast<Int>(items.size());
  if (i < 0) i += length;
  return i < 0 || i >= length ? Value() : items[static_cast<std::size_t>(i)];
}

bool CanIndex(const Value& obj) {
  return obj.is_string() || (obj.is(Type::kSeq) && obj.seq().kind <= SeqKind::kRange);
}

}  // namespace

Function::Function(std::string_view fn_name, NativeFn fn, Value bound_to)
    : name(fn_name), call(fn), self(std::move(bound_to)) {
  depth = self.missing() ? 0 : Depth(self) + 1;
  CheckDepth(depth);
}

const char* Function::TypeName() const {
  return self.missing() ? "function" : "builtin_function_or_method";
}

std::string Function::Repr() const {
  if (self.missing()) return "<function " + std::string(name) + ">";
  return "<built-in method " + std::string(name) + " of " + vt::chat::TypeName(self) + " object>";
}

Cycler::Cycler(std::vector<Value> all) : items(std::move(all)) {
  for (const Value& item : items) depth = std::max(depth, Depth(item) + 1);
  CheckDepth(depth);
}

Joiner::Joiner(Value separator) : sep(std::move(separator)) {
  depth = Depth(sep) + 1;
  CheckDepth(depth);
}

Value UndefinedVariable(std::string_view name) {
  Undef undef;
  undef.name = name;
  return Value::Of(std::move(undef));
}

Value UndefinedHint(std::string hint) {
  Undef undef;
  undef.hint = std::move(hint);
  return Value::Of(std::move(undef));
}

Value GetAttr(const Value& obj, std::string_view name) {
  if (obj.undefined()) FailUndefined(obj);
  Value found = Attribute(obj, name);
  if (!found.missing()) return found;
  if (obj.is(Type::kDict)) {
    if (const Value* item = obj.dict().Find(name)) return *item;
  }
  return UndefinedAttribute(obj, name);
}

Value GetItem(const Value& obj, const Value& key) {
  if (obj.undefined()) FailUndefined(obj);
  if (obj.is(Type::kDict)) {
    const bool hashable =
        !key.is(Type::kDict) && !(key.is(Type::kSeq) && key.seq().kind == SeqKind::kList);
    if (hashable) {
      if (const Value* item = obj.dict().Find(key)) return *item;
    }
  } else if (CanIndex(obj) && key.is_integral()) {
    Value element = ElementAt(obj, key.integer());
    if (!element.missing()) return element;
  }
  if (key.is_string()) {
    Value found = Attribute(obj, key.str());
    return found.missing() ? UndefinedAttribute(obj, key.str()) : found;
  }
  Undef undef;
  undef.owner = TypeName(obj);
  undef.name = Repr(key);
  undef.element = true;
  return Value::Of(std::move(undef));
}

Value GetSlice(const Value& obj, const Value& start, const Value& stop, const Value& step) {
  if (obj.undefined()) FailUndefined(obj);
  if (obj.is(Type::kDict)) Fail("unhashable type: 'slice'");
  if (!CanIndex(obj)) Fail(std::string("'") + TypeName(obj) + "' object is not subscriptable");
  if (obj.is_string()) {
    return SliceString(obj, WalkOf(CountChars(obj.str()), start, stop, step));
  }
  const Seq& seq = obj.seq();
  const SliceWalk walk = WalkOf(seq.items.size(), start, stop, step);
  Seq out;
  out.kind = seq.kind == SeqKind::kGroup ? SeqKind::kTuple : seq.kind;
  out.items.reserve(walk.count);
  for (std::size_t i = 0; i < walk.count; ++i) {
    out.items.push_back(
        seq.items[static_cast<std::size_t>(walk.first + static_cast<Int>(i) * walk.step)]);
  }
  if (seq.kind == SeqKind::kRange) {
    const Int stride = Int{seq.range[2]} * walk.step;
    const Int first = Int{seq.range[0]} + Int{seq.range[2]} * walk.first;
    const Int last = Int{seq.range[0]} + Int{seq.range[2]} * walk.last;
    out.range = {static_cast<std::int64_t>(first), static_cast<std::int64_t>(last),
                 static_cast<std::int64_t>(stride)};
  }
  return Value::Of(std::move(out));
}

}  // namespace vt::chat
