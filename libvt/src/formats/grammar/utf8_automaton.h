// Character sets as byte automata: what a byte of UTF-8 may be, given those before it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "formats/grammar/char_set.h"

namespace vt::grammar {

inline constexpr std::int32_t kNoNode = -1;
inline constexpr std::int32_t kCharacterDone = -2;

// What follows each of the 64 bytes 80..BF inside a character: a node, the end of the character, or
// nothing.
using Utf8Node = std::array<std::int32_t, 64>;

// A character set by its characters' first byte.
struct ByteClass {
  static constexpr unsigned kFirstLead = 0xC2, kLastLead = 0xF4;
  std::array<std::uint64_t, 2> ascii = {};  // bit b: the byte b is a character of the set
  std::array<std::int32_t, kLastLead - kFirstLead + 1> lead;  // node after the byte, or kNoNode

  bool HasAscii(unsigned byte) const { return (ascii[byte / 64] >> (byte % 64) & 1) != 0; }
};

// Makes classes whose nodes are shared wherever the rest of a character is restricted alike.
class Utf8Automaton {
 public:
  ByteClass Add(const CharSet& set);
  const std::vector<Utf8Node>& nodes() const { return nodes_; }

 private:
  std::int32_t Node(const CharSet& set, char32_t prefix, int bytes_left);
  std::int32_t Intern(const Utf8Node& node);

  std::vector<Utf8Node> nodes_;
  std::map<Utf8Node, std::int32_t> ids_;
};

}  // namespace vt::grammar
