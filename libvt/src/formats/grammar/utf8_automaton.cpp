#include "formats/grammar/utf8_automaton.h"

#include <algorithm>

namespace vt::grammar {
namespace {

// How much of [first, last] the set covers.
enum class Cover { kNone, kSome, kAll };
Cover CoverOf(const CharSet& set, char32_t first, char32_t last) {
  const auto& ranges = set.ranges();
  const auto range = std::partition_point(ranges.begin(), ranges.end(),
                                          [first](const CharRange& r) { return r.last < first; });
  if (range == ranges.end() || range->first > last) return Cover::kNone;
  return range->first <= first && range->last >= last ? Cover::kAll : Cover::kSome;
}

}  // namespace

std::int32_t Utf8Automaton::Intern(const Utf8Node& node) {
  const auto [it, added] = ids_.emplace(node, static_cast<std::int32_t>(nodes_.size()));
  if (added) nodes_.push_back(node);
  return it->second;
}

// The node for characters of the set that begin with `prefix`, of which `bytes_left` bytes of six
// bits are to come.
std::int32_t Utf8Automaton::Node(const CharSet& set, char32_t prefix, int bytes_left) {
  const int bits = 6 * bytes_left;
  const char32_t first = prefix << bits;
  const Cover cover = CoverOf(set, first, first + (char32_t{1} << bits) - 1);
  if (cover == Cover::kNone) return kNoNode;
  if (bytes_left == 0) return kCharacterDone;
  Utf8Node node;
  if (cover == Cover::kAll) {
    node.fill(Node(set, prefix << 6, bytes_left - 1));
  } else {
    for (char32_t i = 0; i < node.size(); ++i) {
      node[i] = Node(set, (prefix << 6) | i, bytes_left - 1);
    }
  }
  return Intern(node);
}

ByteClass Utf8Automaton::Add(const CharSet& set) {
  ByteClass result;
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    if (CoverOf(set, byte, byte) == Cover::kAll) {
      result.ascii[byte / 64] |= std::uint64_t{1} << (byte % 64);
    }
  }
  // Each length has its own characters: what a shorter form can write is left out.
  const CharSet two = set.Intersection(CharSet({{0x80, 0x7FF}}));
  const CharSet three = set.Intersection(CharSet({{0x800, 0xFFFF}}));
  const CharSet four = set.Intersection(CharSet({{0x10000, 0x10FFFF}}));
  for (unsigned byte = ByteClass::kFirstLead; byte <= ByteClass::kLastLead; ++byte) {
    std::int32_t& node = result.lead[byte - ByteClass::kFirstLead];
    if (byte < 0xE0) {
      node = Node(two, byte & 0x1F, 1);
    } else if (byte < 0xF0) {
      node = Node(three, byte & 0x0F, 2);
    } else {
      node = Node(four, byte & 0x07, 3);
    }
  }
  return result;
}

}  // namespace vt::grammar
