// The parts of the search: where it starts, how an answer is made better, what none can beat, and
// the proof that none does.
#pragma once

#include <vector>

#include "place/search_graph.h"

namespace vt {

// Answers by rule: everything on one device; the last blocks on the devices beside the host, in
// their order and in proportion to their limits, with and without the parts that may lie apart on
// the host; the best division of the blocks into one run for each device, for every order of the
// devices. Some do not fit.
std::vector<std::vector<int>> StartingPoints(const SearchGraph& graph, WorkMemory& work);

// Makes the state fit, if moves that each bring it nearer can: those that cost least first.
void Repair(SearchState& state);
// Moves and exchanges units and whole blocks while that makes the state better. `exchanges`: also
// pairs of units, which takes a time in the square of their number.
void Improve(SearchState& state, int sweeps, bool exchanges);
// Moves units between devices that take the same time for them while the devices become more evenly
// full and the seconds stay under `most_seconds`. The state must fit.
void Balance(SearchState& state, double most_seconds);
// Gives part of what lies on a nearly full device to one that is alike, in one piece: an even load
// leaves room for what grows, at the price of a crossing. The state must fit, and stays under
// `most_seconds`.
void Relieve(SearchState& state, double most_seconds);

// The Lagrangian dual: limits are not held but charged for.
struct SearchBound {
  double seconds = 0;                     // nothing that fits takes less
  std::vector<double> charge;             // by limit: seconds for each byte
  std::vector<std::vector<int>> answers;  // met on the way, the last best; few fit
};
SearchBound FindBound(const SearchGraph& graph, WorkMemory& work, double best_seconds);

// Looks at every answer that could be faster than `best` (empty: at all), which becomes the fastest
// one. False: gave up after `nodes`.
bool FindExact(const SearchGraph& graph, WorkMemory& work, const SearchBound& bound,
               std::int64_t nodes, std::vector<int>& best, double& best_seconds);

}  // namespace vt
