// The bytes of a subtree, summed up in 64 bits.
#pragma once

#include <bit>
#include <cstdint>

namespace vt::grammar {

// Bits 0..60: ASCII bytes, most alone, letters a few together.
inline constexpr std::uint64_t kMultibyte = std::uint64_t{1} << 62;  // characters beyond ASCII
inline constexpr std::uint64_t kOpaque = std::uint64_t{1} << 63;     // bytes that are no characters

// The bit of an ASCII byte.
constexpr unsigned BucketOf(unsigned byte) {
  if (byte == '\t') return 1;
  if (byte == '\n') return 2;
  if (byte == '\r') return 3;
  if (byte < 0x20) return 0;
  if (byte <= '@') return 4 + byte - 0x20;  // 33 of punctuation and digits: 4..36
  if (byte <= 'F') return 37;               // A-F
  if (byte <= 'Z') return 38;               // G-Z
  if (byte <= '`') return 39 + byte - '[';  // 6: 39..44
  if (byte <= 'f') return 45;               // a-f
  if (byte == 'n' || byte == 'r' || byte == 't' || byte == 'u') return 46;
  if (byte <= 'z') return 47;
  return 48 + byte - '{';  // 5: 48..52
}
inline constexpr unsigned kBuckets = 53;

}  // namespace vt::grammar
