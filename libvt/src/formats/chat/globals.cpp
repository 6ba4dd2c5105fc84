// Functions that a template can call by name.
#include <algorithm>
#include <ctime>
#include <unordered_map>

#include "formats/chat/budget.h"
#include "formats/chat/builtins.h"
#include "formats/chat/interp.h"
#include "formats/chat/objects.h"
#include "formats/chat/print.h"

namespace vt::chat {
namespace {

constexpr Int kMaxRange = 100000;

Value Range(Interp&, const Value&, Call& call) {
  const Bound args = Bind("range", call, {"start", "stop", "step"}, 1);
  constexpr Int kFar = Int{1} << 62;
  const auto bound = [&](const Value& v) {
    const Int i = IntArg("range", v);
    if (i < -kFar || i > kFar) Fail("range() argument is out of range");
    return i;
  };
  const bool only_stop = args[1].missing();
  const Int start = only_stop ? 0 : bound(args[0]);
  const Int stop = bound(only_stop ? args[0] : args[1]);
  const Int step = args[2].missing() ? 1 : bound(args[2]);
  if (step == 0) Fail("range() arg 3 must not be zero");
  const Int span = step > 0 ? stop - start : start - stop;
  const Int stride = step > 0 ? step : -step;
  const Int count = span > 0 ? (span - 1) / stride + 1 : 0;
  if (count > kMaxRange) {
    Fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
  }
  Seq seq;
  seq.kind = SeqKind::kRange;
  seq.range = {static_cast<std::int64_t>(start), static_cast<std::int64_t>(stop),
               static_cast<std::int64_t>(step)};
  seq.items.reserve(static_cast<std::size_t>(count));
  for (Int i = 0; i < count; ++i) seq.items.push_back(Value::Integer(start + i * step));
  return Value::Of(std::move(seq));
}

// dict(mapping or pairs, **more).
Dict MakeDict(const char* function, const Call& call) {
  if (call.args.size() > 1) {
    Fail(std::string(function) + " expected at most 1 argument, got " +
         std::to_string(call.args.size()));
  }
  Dict dict;
  if (!call.args.empty()) {
    const Value& from = call.args[0];
    if (from.is(Type::kDict)) {
      ChargeSteps(from.dict().size());
      dict = from.dict();
    } else {
      const Items pairs(from);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (!IsIterable(pairs[i])) {
          Fail("cannot convert dictionary update sequence element #" + std::to_string(i) +
               " to a sequence");
        }
        const Items pair(pairs[i]);
        if (pair.size() != 2) {
          Fail("dictionary update sequence element #" + std::to_string(i) + " has length " +
               std::to_string(pair.size()) + "; 2 is required");
        }
        dict.Set(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [key, value] : call.kwargs) dict.Set(Value::String(key), value);
  return dict;
}

Value DictFunction(Interp&, const Value&, Call& call) { return Value::Of(MakeDict("dict", call)); }

Value NamespaceFunction(Interp& in, const Value&, Call& call) {
  const auto space = in.Keep(std::make_shared<Namespace>());
  space->attributes = MakeDict("namespace", call);
  return Value::Of(space);
}

Value CyclerFunction(Interp&, const Value&, Call& call) {
  if (!call.kwargs.empty()) Fail("cycler() takes no keyword arguments");
  if (call.args.empty()) Fail("at least one item has to be provided");
  return Value::Of(std::make_shared<Cycler>(std::move(call.args)));
}

Value JoinerFunction(Interp&, const Value&, Call& call) {
  const Bound args = Bind("joiner", call, {"sep"}, 0);
  return Value::Of(std::make_shared<Joiner>(args[0].missing() ? Value::String(", ") : args[0]));
}

Value RaiseException(Interp&, const Value&, Call& call) {
  const Bound args = Bind("raise_exception", call, {"message"}, 1);
  throw TemplateError{ToStr(args[0]), 0, true};
}

Value StrftimeNow(Interp& in, const Value&, Call& call) {
  const Bound args = Bind("strftime_now", call, {"format"}, 1);
  // The time has no zone: Python writes nothing for %z and %Z then.
  std::string format;
  const std::string& given = StringArg("strftime_now", args[0]);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char next = given[i] == '%' && i + 1 < given.size() ? given[i + 1] : ' ';
    if (next == 'z' || next == 'Z' || next == 'f') {
      if (next == 'f') format += "000000";
      ++i;
    } else {
      format.push_back(given[i]);
      if (given[i] == '%' && i + 1 < given.size()) format.push_back(given[++i]);
    }
  }
  const std::time_t seconds = in.now();
  std::tm broken_down{};
  if (!gmtime_r(&seconds, &broken_down)) Fail("strftime_now: the time is out of range");
  format.push_back('.');  // so that an empty result is not taken for a full buffer
  constexpr std::size_t kMostBytes = 1 << 16;
  for (std::size_t size = 256; size <= kMostBytes; size *= 16) {
    std::string out(size, '\0');
    const std::size_t written = std::strftime(out.data(), size, format.c_str(), &broken_down);
    if (written == 0) continue;
    out.resize(written - 1);
    ChargeBytes(out.size());
    return Value::String(std::move(out));
  }
  Fail("strftime_now: the result is too long");
}

}  // namespace

const Value* FindGlobal(std::string_view name) {
  static const auto* const globals = [] {
    constexpr NamedFn kAll[] = {
        {"cycler", CyclerFunction},          {"dict", DictFunction},
        {"joiner", JoinerFunction},          {"namespace", NamespaceFunction},
        {"raise_exception", RaiseException}, {"range", Range},
        {"strftime_now", StrftimeNow},
    };
    auto* map = new std::unordered_map<std::string_view, Value>;
    for (const NamedFn& fn : kAll) {
      map->emplace(fn.name, Value::Of(std::make_shared<Function>(fn.name, fn.call)));
    }
    return map;
  }();
  const auto found = globals->find(name);
  return found == globals->end() ? nullptr : &found->second;
}

}  // namespace vt::chat
