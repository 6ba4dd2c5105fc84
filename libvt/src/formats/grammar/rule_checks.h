// What can be said of a grammar's rules before any text is read.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/grammar/syntax.h"
#include "vt/status.h"

namespace vt::grammar {

// More steps than this are refused: 12 bytes each.
inline constexpr std::uint64_t kMostSteps = 1u << 20;

// kInvalid: a rule that begins with itself (and so would be entered for ever), a root that no
// finite text fits, repetitions that are too long when written out.
Status CheckRules(const Syntax& syntax);

}  // namespace vt::grammar
