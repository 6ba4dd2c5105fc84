// Rows of several sequences in one step, for the cases of ops with a recurrent state.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/types.h"

namespace vt {

struct StateRows {
  std::vector<StateRow> rows;
  std::int64_t slots = 1;  // one more than there are sequences: a state that must not change
};

// Sequences of one, three and two rows by turns, every second of them fresh, in slots that go down;
// for speed, `rows` past the longest case, one sequence.
inline StateRows SeveralSequences(std::int64_t rows) {
  constexpr std::int64_t kLengths[] = {1, 3, 2};
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = rows; left > 0;) {
    const std::int64_t next = rows > 64 ? rows : kLengths[lengths.size() % 3];
    lengths.push_back(next < left ? next : left);
    left -= lengths.back();
  }
  StateRows all;
  all.slots += static_cast<std::int64_t>(lengths.size());
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t i = 0; i < lengths[s]; ++i) {
      all.rows.push_back({.slot = static_cast<std::int32_t>(lengths.size() - s),
                          .fresh = i == 0 && s % 2 == 1 ? 1 : 0});
    }
  }
  return all;
}

}  // namespace vt
