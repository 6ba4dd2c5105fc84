#include "formats/chat/compare.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "formats/chat/budget.h"

namespace vt::chat {
namespace {

template <class T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// -1, 0, 1, or 2 when a NaN makes them unordered.
int CompareNumbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    return Sign(a.integer(), b.integer());
  }
  const auto wide = [](const Value& v) {
    return v.is_integral() ? static_cast<long double>(v.integer())
                           : static_cast<long double>(v.number());
  };
  const long double x = wide(a);
  const long double y = wide(b);
  if (std::isnan(x) || std::isnan(y)) return 2;
  return Sign(x, y);
}

bool IsList(const Value& v) { return v.is(Type::kSeq) && v.seq().kind == SeqKind::kList; }
bool IsTuple(const Value& v) {
  return v.is(Type::kSeq) && (v.seq().kind == SeqKind::kTuple || v.seq().kind == SeqKind::kGroup);
}

bool EqualSeq(const Value& a, const Value& b) {
  const Seq& x = a.seq();
  const Seq& y = b.seq();
  const bool comparable =
      (IsTuple(a) && IsTuple(b)) ||
      (x.kind == y.kind && (IsList(a) || x.kind == SeqKind::kRange || x.kind == SeqKind::kKeys));
  if (!comparable) return &x == &y;
  if (x.items.size() != y.items.size()) return false;
  for (std::size_t i = 0; i < x.items.size(); ++i) {
    if (!Identical(x.items[i], y.items[i]) && !Equal(x.items[i], y.items[i])) return false;
  }
  return true;
}

bool EqualDict(const Dict& a, const Dict& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  for (const Dict::Item& item : a.items()) {
    const Value* other = b.Find(item.first);
    if (!other || !Equal(item.second, *other)) return false;
  }
  return true;
}

[[noreturn]] void FailOrder(Order order, const Value& a, const Value& b) {
  if (a.undefined()) FailUndefined(a);
  if (b.undefined()) FailUndefined(b);
  constexpr const char* kSymbols[] = {"<", "<=", ">", ">="};
  Fail(std::string("'") + kSymbols[static_cast<int>(order)] +
       "' not supported between instances of '" + TypeName(a) + "' and '" + TypeName(b) + "'");
}

// `comparison` as CompareNumbers returns it.
bool Holds(Order order, int comparison) {
  if (comparison == 2) return false;
  switch (order) {
    case Order::kLess:
      return comparison < 0;
    case Order::kLessEqual:
      return comparison <= 0;
    case Order::kGreater:
      return comparison > 0;
    case Order::kGreaterEqual:
      break;
  }
  return comparison >= 0;
}

std::size_t HashNumber(const Value& v) {
  if (v.is_integral()) {
    const auto i = static_cast<unsigned __int128>(v.integer());
    return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(i));
  }
  const double d = v.number();
  constexpr double kIntRange = 9.0e18;
  if (d == std::floor(d) && std::fabs(d) < kIntRange) {
    return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(static_cast<std::int64_t>(d)));
  }
  return std::hash<double>()(d);
}

}  // namespace

bool Equal(const Value& a, const Value& b) {
  ChargeSteps(1);
  if (a.is_number() && b.is_number()) return CompareNumbers(a, b) == 0;
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kString:
      return a.str() == b.str();
    case Type::kSeq:
      return EqualSeq(a, b);
    case Type::kDict:
      return EqualDict(a.dict(), b.dict());
    case Type::kObject:
      return &a.object() == &b.object();
    default:
      return true;
  }
}

bool Ordered(Order order, const Value& a, const Value& b) {
  ChargeSteps(1);
  if (a.is_number() && b.is_number()) return Holds(order, CompareNumbers(a, b));
  if (a.is_string() && b.is_string()) return Holds(order, Sign(a.str(), b.str()));
  if ((IsList(a) && IsList(b)) || (IsTuple(a) && IsTuple(b))) {
    const auto& x = a.seq().items;
    const auto& y = b.seq().items;
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!Identical(x[i], y[i]) && !Equal(x[i], y[i])) return Ordered(order, x[i], y[i]);
    }
    return Holds(order, Sign(x.size(), y.size()));
  }
  FailOrder(order, a, b);
}

bool Contains(const Value& haystack, const Value& needle) {
  switch (haystack.type()) {
    case Type::kString:
      if (!needle.is_string()) {
        Fail(std::string("'in <string>' requires string as left operand, not ") + TypeName(needle));
      }
      ChargeBytes(haystack.str().size());
      return haystack.str().find(needle.str()) != std::string::npos;
    case Type::kDict:
      return haystack.dict().Find(needle) != nullptr;
    case Type::kUndefined:
      return false;
    case Type::kSeq: {
      const Items items(haystack);
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (Identical(items[i], needle) || Equal(items[i], needle)) {
          items.UsedOnly(i + 1);
          return true;
        }
      }
      return false;
    }
    default:
      Fail(std::string("argument of type '") + TypeName(haystack) + "' is not iterable");
  }
}

bool Identical(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kString:
      return a.str_ptr() == b.str_ptr() || (a.str() == b.str() && a.str().size() <= 1);
    case Type::kSeq:
      return &a.seq() == &b.seq();
    case Type::kDict:
      return &a.dict() == &b.dict();
    case Type::kObject:
      return &a.object() == &b.object();
    case Type::kUndefined:
      return &a.undef() == &b.undef();
    case Type::kBool:
      return a.boolean() == b.boolean();
    case Type::kInt:
      return a.integer() == b.integer();
    case Type::kFloat:
      return false;
    default:
      return true;
  }
}

std::size_t Hash(const Value& v) {
  ChargeSteps(1);
  switch (v.type()) {
    case Type::kBool:
    case Type::kInt:
    case Type::kFloat:
      return HashNumber(v);
    case Type::kString:
      return std::hash<std::string_view>()(v.str());
    case Type::kDict:
      Fail("unhashable type: 'dict'");
    case Type::kObject:
      return std::hash<const void*>()(&v.object());
    case Type::kSeq: {
      if (v.seq().kind == SeqKind::kList) Fail("unhashable type: 'list'");
      if (v.seq().kind == SeqKind::kIterator) return std::hash<const void*>()(&v.seq());
      constexpr std::size_t kFactor = 1000003;
      std::size_t hash = v.seq().items.size();
      for (const Value& item : v.seq().items) hash = hash * kFactor + Hash(item);
      return hash;
    }
    default:
      return static_cast<std::size_t>(v.type());
  }
}

std::vector<std::size_t> SortedOrder(const std::vector<Value>& keys, bool reverse) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::size_t> merged(keys.size());
  // A merge sort of our own: it stays in bounds for keys that have no consistent order (NaN).
  for (std::size_t width = 1; width < keys.size(); width *= 2) {
    for (std::size_t low = 0; low < keys.size(); low += 2 * width) {
      std::size_t left = low;
      const std::size_t middle = std::min(low + width, keys.size());
      const std::size_t high = std::min(low + 2 * width, keys.size());
      std::size_t right = middle;
      for (std::size_t out = low; out < high; ++out) {
        const bool take_right =
            left == middle ||
            (right < high && (reverse ? Less(keys[order[left]], keys[order[right]])
                                      : Less(keys[order[right]], keys[order[left]])));
        merged[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace vt::chat
