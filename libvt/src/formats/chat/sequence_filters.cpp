// Filters over sequences and mappings that take no other filter or test.
#include <algorithm>
#include <unordered_map>

#include "formats/chat/arith.h"
#include "formats/chat/attribute_path.h"
#include "formats/chat/budget.h"
#include "formats/chat/builtins.h"
#include "formats/chat/compare.h"
#include "formats/chat/print.h"
#include "formats/chat/strings.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

bool Given(const Value& v) { return !v.missing() && !v.none(); }

Value LengthFilter(Interp&, Call& call) {
  const Value v = Bind("length", call, {"obj"}, 1)[0];
  const std::int64_t length = Length(v);
  if (length < 0) Fail(std::string("object of type '") + TypeName(v) + "' has no len()");
  return Value::Integer(length);
}

Value First(Interp&, Call& call) {
  const Items items(Bind("first", call, {"seq"}, 1)[0]);
  if (items.size() == 0) return UndefinedHint("No first item, sequence was empty.");
  items.UsedOnly(1);
  return items[0];
}

Value Last(Interp&, Call& call) {
  const Value v = Bind("last", call, {"seq"}, 1)[0];
  if (!IsIterable(v) || Length(v) < 0) {
    Fail(std::string("'") + TypeName(v) + "' object is not reversible");
  }
  const Items items(v);
  if (items.size() == 0) return UndefinedHint("No last item, sequence was empty.");
  return items[items.size() - 1];
}

Value Join(Interp&, Call& call) {
  const Bound args = Bind("join", call, {"value", "d", "attribute"}, 1);
  const std::string separator = args[1].missing() ? "" : ToStr(args[1]);
  const Items items(args[0]);
  if (!Given(args[2])) return Value::String(vt::chat::Join(separator, items, false));
  const AttributePath path(args[2]);
  std::vector<Value> values;
  for (const Value& item : items) values.push_back(path.Of(item));
  return Value::String(vt::chat::Join(separator, Items(Value::List(std::move(values))), false));
}

Value ListFilter(Interp&, Call& call) {
  return Value::List(Items(Bind("list", call, {"value"}, 1)[0]).ToVector());
}

Value ItemsFilter(Interp&, Call& call) {
  const Value v = Bind("items", call, {"value"}, 1)[0];
  std::vector<Value> pairs;
  if (!v.undefined()) {
    if (!v.is(Type::kDict)) Fail("Can only get item pairs from a mapping.");
    for (const auto& [key, value] : v.dict().items()) pairs.push_back(Value::Tuple({key, value}));
  }
  return Value::Iterator(std::move(pairs));
}

Value Reverse(Interp&, Call& call) {
  const Value v = Bind("reverse", call, {"value"}, 1)[0];
  if (!IsIterable(v)) Fail("argument must be iterable");
  std::vector<Value> items = Items(v).ToVector();
  std::reverse(items.begin(), items.end());
  if (v.is_string()) {
    return Value::String(vt::chat::Join("", Items(Value::List(std::move(items))), false));
  }
  const bool used_up = v.is(Type::kSeq) && v.seq().kind == SeqKind::kIterator;
  return used_up ? Value::List(std::move(items)) : Value::Iterator(std::move(items));
}

Value DictSort(Interp&, Call& call) {
  const Bound args = Bind("dictsort", call, {"value", "case_sensitive", "by", "reverse"}, 1);
  const std::string by = args[2].missing() ? "key" : ToStr(args[2]);
  if (by != "key" && by != "value") Fail("You can only sort by either \"key\" or \"value\"");
  if (args[0].undefined()) FailUndefined(args[0]);
  if (!args[0].is(Type::kDict)) {
    Fail(std::string("'") + TypeName(args[0]) + "' object has no attribute 'items'");
  }
  const bool as_is = BoolArgOr(args[1], false);
  const auto& items = args[0].dict().items();
  std::vector<Value> keys;
  for (const auto& [key, value] : items) {
    const Value& sorted_by = by == "key" ? key : value;
    keys.push_back(as_is ? sorted_by : IgnoreCase(sorted_by));
  }
  std::vector<Value> out;
  for (const std::size_t i : SortedOrder(keys, BoolArgOr(args[3], false))) {
    out.push_back(Value::Tuple({items[i].first, items[i].second}));
  }
  return Value::List(std::move(out));
}

Value Sort(Interp&, Call& call) {
  const Bound args = Bind("sort", call, {"value", "reverse", "case_sensitive", "attribute"}, 1);
  const bool as_is = BoolArgOr(args[2], false);
  std::vector<AttributePath> paths;
  if (args[3].is_string()) {
    const std::string comma = ",";
    for (const std::string_view part : Split(args[3].str(), &comma, -1)) {
      paths.emplace_back(Value::String(std::string(part)));
    }
  } else {
    paths.emplace_back(args[3]);
  }
  const std::vector<Value> items = Items(args[0]).ToVector();
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      Value part = path.Of(item);
      parts.push_back(as_is ? std::move(part) : IgnoreCase(part));
    }
    keys.push_back(Value::List(std::move(parts)));
  }
  std::vector<Value> out;
  for (const std::size_t i : SortedOrder(keys, BoolArgOr(args[1], false))) out.push_back(items[i]);
  return Value::List(std::move(out));
}

Value Unique(Interp&, Call& call) {
  const Bound args = Bind("unique", call, {"value", "case_sensitive", "attribute"}, 1);
  const bool as_is = BoolArgOr(args[1], false);
  const AttributePath path(args[2]);
  Dict seen;
  std::vector<Value> out;
  for (const Value& item : Items(args[0])) {
    Value key = path.Of(item);
    if (!as_is) key = IgnoreCase(key);
    if (seen.Find(key)) continue;
    seen.Set(std::move(key), Value::None());
    out.push_back(item);
  }
  return Value::Iterator(std::move(out));
}

template <bool kMax>
Value Extreme(Interp&, Call& call) {
  const Bound args = Bind(kMax ? "max" : "min", call, {"value", "case_sensitive", "attribute"}, 1);
  const Items items(args[0]);
  if (items.size() == 0) return UndefinedHint("No aggregated item, sequence was empty.");
  const bool as_is = BoolArgOr(args[1], false);
  const AttributePath path(args[2]);
  const auto key_of = [&](const Value& item) {
    Value key = path.Of(item);
    return as_is ? key : IgnoreCase(key);
  };
  std::size_t best = 0;
  Value best_key = key_of(items[0]);
  for (std::size_t i = 1; i < items.size(); ++i) {
    Value key = key_of(items[i]);
    if (Ordered(kMax ? Order::kGreater : Order::kLess, key, best_key)) {
      best = i;
      best_key = std::move(key);
    }
  }
  return items[best];
}

Value Sum(Interp&, Call& call) {
  const Bound args = Bind("sum", call, {"iterable", "attribute", "start"}, 1);
  const AttributePath path(args[1]);
  Value total = args[2].missing() ? Value::Integer(0) : args[2];
  if (total.is_string()) Fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : Items(args[0])) total = Arithmetic(Op::kAdd, total, path.Of(item));
  return total;
}

Value Batch(Interp&, Call& call) {
  const Bound args = Bind("batch", call, {"value", "linecount", "fill_with"}, 2);
  const Int size = IntArg("batch", args[1]);
  std::vector<Value> out;
  std::vector<Value> row;
  for (const Value& item : Items(args[0])) {
    if (static_cast<Int>(row.size()) == size) {
      out.push_back(Value::List(std::exchange(row, {})));
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    if (Given(args[2]) && static_cast<Int>(row.size()) < size) {
      constexpr Int kMost = 1 << 24;
      if (size > kMost) Fail("batch: the line count is too large");
      ChargeSteps(static_cast<std::uint64_t>(size));
      row.resize(static_cast<std::size_t>(size), args[2]);
    }
    out.push_back(Value::List(std::move(row)));
  }
  return Value::Iterator(std::move(out));
}

Value Slice(Interp&, Call& call) {
  const Bound args = Bind("slice", call, {"value", "slices", "fill_with"}, 2);
  const Items items(args[0]);
  const Int wanted = IntArg("slice", args[1]);
  if (wanted == 0) Fail("integer division or modulo by zero");
  constexpr Int kMost = 1 << 24;
  if (wanted > kMost) Fail("slice: too many slices");
  std::vector<Value> out;
  const std::size_t slices = wanted < 0 ? 0 : static_cast<std::size_t>(wanted);
  ChargeSteps(slices);
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const bool extra = i < items.size() % slices;
    const std::size_t end = at + items.size() / slices + (extra ? 1 : 0);
    std::vector<Value> part(items.begin() + at, items.begin() + end);
    if (Given(args[2]) && !extra) part.push_back(args[2]);
    out.push_back(Value::List(std::move(part)));
    at = end;
  }
  return Value::Iterator(std::move(out));
}

Value GroupBy(Interp&, Call& call) {
  const Bound args = Bind("groupby", call, {"value", "attribute", "default", "case_sensitive"}, 2);
  const bool as_is = BoolArgOr(args[3], false);
  const AttributePath path(args[1], Given(args[2]) ? args[2] : Value());
  const std::vector<Value> items = Items(args[0]).ToVector();
  std::vector<Value> keys;
  for (const Value& item : items) {
    Value key = path.Of(item);
    keys.push_back(as_is ? std::move(key) : IgnoreCase(key));
  }
  std::vector<Value> out;
  const std::vector<std::size_t> order = SortedOrder(keys, false);
  for (std::size_t i = 0; i < order.size();) {
    std::vector<Value> group;
    std::size_t end = i;
    while (end < order.size() && Equal(keys[order[end]], keys[order[i]])) {
      group.push_back(items[order[end++]]);
    }
    Seq pair;
    pair.kind = SeqKind::kGroup;
    pair.items = {path.Of(group[0]), Value::List(group)};
    out.push_back(Value::Of(std::move(pair)));
    i = end;
  }
  return Value::List(std::move(out));
}

Value Attr(Interp&, Call& call) {
  const Bound args = Bind("attr", call, {"obj", "name"}, 2);
  const std::string& name = StringArg("attr", args[1]);
  // Attributes only: the items of a dict do not count.
  if (args[0].is(Type::kDict) && !FindDictMethod(name)) {
    Undef undef;
    undef.owner = TypeName(args[0]);
    undef.name = name;
    return Value::Of(std::move(undef));
  }
  return GetAttr(args[0], name);
}

constexpr NamedFilter kFilters[] = {
    {"attr", Attr},           {"batch", Batch},     {"count", LengthFilter},
    {"dictsort", DictSort},   {"first", First},     {"groupby", GroupBy},
    {"items", ItemsFilter},   {"join", Join},       {"last", Last},
    {"length", LengthFilter}, {"list", ListFilter}, {"max", Extreme<true>},
    {"min", Extreme<false>},  {"reverse", Reverse}, {"slice", Slice},
    {"sort", Sort},           {"sum", Sum},         {"unique", Unique},
};

}  // namespace

const NamedFilter* FindSequenceFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [&](const NamedFilter& f) { return f.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace vt::chat
