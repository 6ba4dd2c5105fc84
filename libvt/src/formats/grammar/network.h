// A grammar as a network of steps over bytes, which a stack of return points runs through.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/grammar/syntax.h"
#include "formats/grammar/utf8_automaton.h"
#include "vt/status.h"

namespace vt::grammar {

enum class StepKind : std::uint8_t {
  kEnd,    // of a rule: goes on where the rule was called
  kClass,  // reads a character of class `a`, then `next`
  kUtf8,   // inside a character, at node `a`; goes on like kEnd when the character is whole
  kCall,   // reads the rule that starts at step `a`, then `next`
  kSplit,  // goes on at `a` or at `next`
};

struct Step {
  StepKind kind = StepKind::kEnd;
  std::int32_t a = 0;
  std::int32_t next = 0;
};

inline constexpr std::int32_t kEndStep = 0;  // the only kEnd

struct Network {
  std::vector<Step> steps;
  std::int32_t root = 0;  // step
  std::vector<CharSet> sets;
  std::vector<ByteClass> classes;  // by index of the set
  std::vector<Utf8Node> nodes;
  std::int32_t first_utf8_step = 0;  // node n is step first_utf8_step + n

  // Bytes that no step tells apart are of one group.
  std::array<std::uint8_t, 256> group_of_byte = {};
  std::vector<std::uint8_t> byte_of_group;  // one of each
};

// kInvalid as ParseGbnf says.
Result<Network> MakeNetwork(const Syntax& syntax);

}  // namespace vt::grammar
