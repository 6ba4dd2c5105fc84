// The tables of filters, tests and global functions.
#pragma once

#include <string_view>

#include "formats/chat/ast.h"
#include "formats/chat/value.h"

namespace vt::chat {

// A filter takes the value as its first argument.
struct NamedFilter {
  std::string_view name;
  FilterFn filter;
};
struct NamedTest {
  std::string_view name;
  TestFn test;
};

FilterFn FindFilter(std::string_view name);
TestFn FindTest(std::string_view name);
// Functions such as range(); null where there is none.
const Value* FindGlobal(std::string_view name);

// The parts of the filter table, by what they work on.
const NamedFilter* FindTextFilter(std::string_view name);
const NamedFilter* FindSequenceFilter(std::string_view name);
const NamedFilter* FindSelectionFilter(std::string_view name);

}  // namespace vt::chat
