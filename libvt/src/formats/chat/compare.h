// Python's ==, <, in, is and hash() over template values.
#pragma once

#include <cstddef>

#include "formats/chat/value.h"

namespace vt::chat {

bool Equal(const Value& a, const Value& b);
// Orders numbers, strings, and lists or tuples of them; fails for the rest with `op` in the words.
bool Less(const Value& a, const Value& b, const char* op = "<");
bool LessEqual(const Value& a, const Value& b, const char* op = "<=");
bool Contains(const Value& haystack, const Value& needle);
bool Identical(const Value& a, const Value& b);
// Equal values have equal hashes; fails for lists, dicts and what holds them.
std::size_t Hash(const Value& v);
// The indices of `keys` in ascending order, equal ones in their order (also when reversed).
std::vector<std::size_t> SortedOrder(const std::vector<Value>& keys, bool reverse);

}  // namespace vt::chat
