// Python's ==, <, in, is and hash() over template values.
#pragma once

#include <cstddef>

#include "formats/chat/value.h"

namespace vt::chat {

bool Equal(const Value& a, const Value& b);
// a < b, a <= b, a > b, a >= b for numbers, strings, and lists or tuples of them; fails for the
// rest.
enum class Order : std::uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual };
bool Ordered(Order order, const Value& a, const Value& b);
inline bool Less(const Value& a, const Value& b) { return Ordered(Order::kLess, a, b); }
bool Contains(const Value& haystack, const Value& needle);
bool Identical(const Value& a, const Value& b);
// Equal values have equal hashes; fails for lists, dicts and what holds them.
std::size_t Hash(const Value& v);
// The indices of `keys` in ascending order, equal ones in their order (also when reversed).
std::vector<std::size_t> SortedOrder(const std::vector<Value>& keys, bool reverse);

}  // namespace vt::chat
