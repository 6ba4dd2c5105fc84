#include "formats/tokenizer/special_matcher.h"

#include <algorithm>
#include <functional>
#include <set>

namespace vt::tok {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// What has become of each byte of the text.
enum : unsigned char { kFree, kTaken, kEaten };

bool IsFree(const std::vector<unsigned char>& state, std::size_t begin, std::size_t length) {
  const auto from = state.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::all_of(from, from + static_cast<std::ptrdiff_t>(length),
                     [](unsigned char s) { return s == kFree; });
}

}  // namespace

SpecialMatcher::SpecialMatcher(std::vector<SpecialToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const SpecialToken& t) { return t.text.empty(); });
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const SpecialToken& a, const SpecialToken& b) { return a.text < b.text; });
  tokens_.erase(
      std::unique(tokens_.begin(), tokens_.end(),
                  [](const SpecialToken& a, const SpecialToken& b) { return a.text == b.text; }),
      tokens_.end());

  roots_.fill(kNone);
  // Breadth first, so that the children of a node are neighbours.
  struct Range {
    std::size_t begin, end, depth;  // tokens that share their first `depth` bytes
    std::uint32_t node;
  };
  std::vector<Range> work;
  const auto add_children = [&](const Range& range) {
    std::size_t begin = range.begin;
    if (tokens_[begin].text.size() == range.depth) ++begin;
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    std::uint16_t count = 0;
    while (begin < range.end) {
      const auto byte = static_cast<unsigned char>(tokens_[begin].text[range.depth]);
      std::size_t end = begin + 1;
      while (end < range.end && static_cast<unsigned char>(tokens_[end].text[range.depth]) == byte)
        ++end;
      Node node;
      node.byte = byte;
      node.single = end - begin == 1;
      if (node.single || tokens_[begin].text.size() == range.depth + 1) {
        node.token = static_cast<std::uint32_t>(begin);
      }
      if (!node.single) {
        work.push_back({begin, end, range.depth + 1, static_cast<std::uint32_t>(nodes_.size())});
      }
      if (range.depth == 0) roots_[byte] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(node);
      ++count;
      begin = end;
    }
    if (range.depth > 0) {
      nodes_[range.node].first_child = first;
      nodes_[range.node].children = count;
    }
  };
  if (!tokens_.empty()) add_children({0, tokens_.size(), 0, 0});
  for (std::size_t i = 0; i < work.size(); ++i) add_children(Range(work[i]));
}

template <class Visit>
void SpecialMatcher::ForEachMatch(std::string_view text, std::size_t pos, Visit&& visit) const {
  std::uint32_t at = roots_[static_cast<unsigned char>(text[pos])];
  for (std::size_t depth = 1; at != kNone; ++depth) {
    const Node& node = nodes_[at];
    if (node.token != kNone && text.substr(pos).starts_with(tokens_[node.token].text)) {
      visit(node.token);
    }
    if (node.single || pos + depth >= text.size()) return;
    const auto byte = static_cast<unsigned char>(text[pos + depth]);
    at = kNone;
    for (std::uint32_t i = 0; i < node.children; ++i) {
      if (nodes_[node.first_child + i].byte == byte) at = node.first_child + i;
    }
  }
}

std::vector<SpecialMatcher::Match> SpecialMatcher::FindMatches(
    std::string_view text, std::span<const std::size_t> literal_offsets) const {
  // Lengths that occur at all, and the places where anything starts; most texts have few.
  std::set<std::size_t, std::greater<>> lengths;
  std::vector<std::size_t> places;
  for (std::size_t pos = 0; pos < text.size(); ++pos) {
    if (roots_[static_cast<unsigned char>(text[pos])] == kNone) continue;
    bool any = false;
    ForEachMatch(text, pos, [&](std::uint32_t token) {
      lengths.insert(tokens_[token].text.size());
      any = true;
    });
    if (any) places.push_back(pos);
  }
  std::vector<Match> matches;
  if (places.empty()) return matches;
  std::vector<unsigned char> state(text.size(), kFree);
  for (const std::size_t length : lengths) {
    for (const std::size_t pos : places) {
      if (state[pos] != kFree) continue;
      std::uint32_t found = kNone;
      ForEachMatch(text, pos, [&](std::uint32_t token) {
        if (tokens_[token].text.size() == length) found = token;
      });
      if (found == kNone || !IsFree(state, pos, length)) continue;
      const auto literal = std::upper_bound(literal_offsets.begin(), literal_offsets.end(), pos);
      if (literal != literal_offsets.end() && *literal < pos + length) continue;
      std::fill_n(state.begin() + static_cast<std::ptrdiff_t>(pos), length, kTaken);
      if (tokens_[found].strip_right) {
        for (std::size_t i = pos + length; i < text.size() && state[i] == kFree && IsSpace(text[i]);
             ++i)
          state[i] = kEaten;
      }
      if (tokens_[found].strip_left) {
        for (std::size_t i = pos; i > 0 && state[i - 1] == kFree && IsSpace(text[i - 1]); --i)
          state[i - 1] = kEaten;
      }
      matches.push_back({pos, found});
    }
    std::erase_if(places, [&](std::size_t pos) { return state[pos] != kFree; });
  }
  std::sort(matches.begin(), matches.end(),
            [](const Match& a, const Match& b) { return a.begin < b.begin; });
  return matches;
}

std::vector<Fragment> SpecialMatcher::Split(std::string_view text,
                                            std::span<const std::size_t> literal_offsets) const {
  std::vector<Fragment> fragments;
  if (text.empty()) return fragments;
  const std::vector<Match> matches =
      tokens_.empty() ? std::vector<Match>{} : FindMatches(text, literal_offsets);
  std::size_t done = 0;
  for (std::size_t i = 0; i <= matches.size(); ++i) {
    const bool last = i == matches.size();
    std::size_t begin = done;
    std::size_t end = last ? text.size() : matches[i].begin;
    if (i > 0 && tokens_[matches[i - 1].token].strip_right) {
      while (begin < end && IsSpace(text[begin])) ++begin;
    }
    if (!last && tokens_[matches[i].token].strip_left) {
      while (end > begin && IsSpace(text[end - 1])) --end;
    }
    if (end > begin) fragments.push_back({kNoToken, text.substr(begin, end - begin)});
    if (last) break;
    const SpecialToken& token = tokens_[matches[i].token];
    fragments.push_back({token.id, text.substr(matches[i].begin, token.text.size())});
    done = matches[i].begin + token.text.size();
  }
  return fragments;
}

}  // namespace vt::tok
