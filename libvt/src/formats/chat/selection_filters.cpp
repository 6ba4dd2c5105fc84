// Filters that apply other filters, tests or attributes to each item, and the filter table.
#include <algorithm>

#include "formats/chat/arith.h"
#include "formats/chat/attribute_path.h"
#include "formats/chat/budget.h"
#include "formats/chat/builtins.h"
#include "formats/chat/print.h"
#include "formats/chat/strings.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

Value TakeKwarg(Call& call, std::string_view name) {
  for (auto it = call.kwargs.begin(); it != call.kwargs.end(); ++it) {
    if (it->first != name) continue;
    Value value = std::move(it->second);
    call.kwargs.erase(it);
    return value;
  }
  return {};
}

// The call for one item: the item, then the arguments from number `from` on.
Call ItemCall(const Value& item, const Call& call, std::size_t from) {
  Call out;
  out.args.push_back(item);
  out.args.insert(out.args.end(), call.args.begin() + static_cast<std::ptrdiff_t>(from),
                  call.args.end());
  out.kwargs = call.kwargs;
  return out;
}

Value Map(Interp& in, Call& call) {
  if (!Truthy(call.args[0])) return Value::Iterator({});
  std::vector<Value> out;
  if (call.args.size() == 1) {
    const Value attribute = TakeKwarg(call, "attribute");
    if (attribute.missing()) Fail("map requires a filter argument");
    const Value fallback = TakeKwarg(call, "default");
    if (!call.kwargs.empty()) Fail("Unexpected keyword argument '" + call.kwargs[0].first + "'");
    const AttributePath path(attribute, fallback.none() ? Value() : fallback);
    for (const Value& item : Items(call.args[0])) out.push_back(path.Of(item));
    return Value::Iterator(std::move(out));
  }
  const std::string name = StringArg("map", call.args[1]);
  const FilterFn filter = FindFilter(name);
  if (!filter) Fail("No filter named '" + name + "'.");
  for (const Value& item : Items(call.args[0])) {
    Call item_call = ItemCall(item, call, 2);
    out.push_back(filter(in, item_call));
  }
  return Value::Iterator(std::move(out));
}

template <bool kKeep, bool kAttribute>
Value Select(Interp& in, Call& call) {
  if (!Truthy(call.args[0])) return Value::Iterator({});
  constexpr std::size_t kTest = kAttribute ? 2 : 1;
  if (call.args.size() < kTest) Fail("Missing parameter for attribute name");
  const AttributePath path(kAttribute ? call.args[1] : Value());
  TestFn test = nullptr;
  if (call.args.size() > kTest) {
    const std::string name = StringArg("select", call.args[kTest]);
    test = FindTest(name);
    if (!test) Fail("No test named '" + name + "'.");
  }
  std::vector<Value> out;
  for (const Value& item : Items(call.args[0])) {
    const Value subject = path.Of(item);
    bool holds = false;
    if (test) {
      Call item_call = ItemCall(subject, call, kTest + 1);
      holds = test(in, item_call);
    } else {
      holds = Truthy(subject);
    }
    if (holds == kKeep) out.push_back(item);
  }
  return Value::Iterator(std::move(out));
}

constexpr NamedFilter kFilters[] = {
    {"map", Map},
    {"reject", Select<false, false>},
    {"rejectattr", Select<false, true>},
    {"select", Select<true, false>},
    {"selectattr", Select<true, true>},
};

}  // namespace

AttributePath::AttributePath(const Value& attribute, Value fallback)
    : fallback_(std::move(fallback)) {
  if (attribute.missing() || attribute.none()) return;
  if (!attribute.is_string()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string dot = ".";
  for (const std::string_view part : Split(attribute.str(), &dot, -1)) {
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    const std::optional<Int> index = number ? ParseInt(part, 10) : std::nullopt;
    parts_.push_back(index ? Value::Integer(*index) : Value::String(std::string(part)));
  }
}

Value AttributePath::Of(Value item) const {
  ChargeSteps(1);
  for (const Value& part : parts_) {
    item = GetItem(item, part);
    if (item.undefined() && !fallback_.missing()) item = fallback_;
  }
  return item;
}

Value IgnoreCase(const Value& v) { return v.is_string() ? Value::String(ToLower(v.str())) : v; }

const NamedFilter* FindSelectionFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [&](const NamedFilter& f) { return f.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

FilterFn FindFilter(std::string_view name) {
  const NamedFilter* found = FindTextFilter(name);
  if (!found) found = FindSequenceFilter(name);
  if (!found) found = FindSelectionFilter(name);
  return found ? found->filter : nullptr;
}

}  // namespace vt::chat
