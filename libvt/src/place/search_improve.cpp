// Local search: moves and exchanges of units and blocks.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "place/search_parts.h"

namespace vt {
namespace {

std::size_t At(int index) { return static_cast<std::size_t>(index); }

struct UnitMove {
  int unit = 0;
  int to = 0;
};
using Moves = std::vector<UnitMove>;

// Makes the moves and turns them into those that take them back.
void Apply(SearchState& state, Moves& moves) {
  for (UnitMove& move : moves) {
    const int from = state.device(move.unit);
    state.Move(move.unit, move.to);
    move.to = from;
  }
  std::reverse(moves.begin(), moves.end());
}

// The units of a block that are on `from`, to `to`.
void AddBlock(const SearchState& state, int block, int from, int to, Moves& moves) {
  for (const int unit : state.graph().blocks[At(block)]) {
    if (state.device(unit) == from) moves.push_back({unit, to});
  }
}

// Calls visit(moves) for every single move: of a unit, and of what a block has on a device. `visit`
// may change the state.
template <class Visit>
void ForEachMove(SearchState& state, Visit visit) {
  const SearchGraph& graph = state.graph();
  Moves moves;
  for (int unit = 0; unit < graph.size(); ++unit) {
    for (int to = 0; to < graph.devices; ++to) {
      if (to == state.device(unit)) continue;
      moves.assign(1, {unit, to});
      visit(moves);
    }
  }
  for (int block = 0; block < static_cast<int>(graph.blocks.size()); ++block) {
    if (graph.blocks[At(block)].size() < 2) continue;
    for (int from = 0; from < graph.devices; ++from) {
      for (int to = 0; to < graph.devices; ++to) {
        moves.clear();
        if (to != from) AddBlock(state, block, from, to, moves);
        if (moves.size() > 1) visit(moves);
      }
    }
  }
}

// The same of exchanges: of two units, and of what two blocks have on two devices.
template <class Visit>
void ForEachExchange(SearchState& state, Visit visit) {
  const SearchGraph& graph = state.graph();
  Moves moves;
  for (int a = 0; a < graph.size(); ++a) {
    for (int b = a + 1; b < graph.size(); ++b) {
      if (state.device(a) == state.device(b)) continue;
      moves.assign({{a, state.device(b)}, {b, state.device(a)}});
      visit(moves);
    }
  }
  const int blocks = static_cast<int>(graph.blocks.size());
  for (int a = 0; a < blocks; ++a) {
    for (int b = a + 1; b < blocks; ++b) {
      const int on_a = state.device(graph.blocks[At(a)].front());
      const int on_b = state.device(graph.blocks[At(b)].front());
      if (on_a == on_b) continue;
      moves.clear();
      AddBlock(state, a, on_a, on_b, moves);
      AddBlock(state, b, on_b, on_a, moves);
      if (moves.size() > 2) visit(moves);
    }
  }
}

// Units that take the same time on both devices.
bool Alike(const SearchGraph& graph, int unit, int a, int b) {
  constexpr double kSame = 1e-6;
  const std::vector<double>& seconds = graph.units[At(unit)].seconds;
  return std::abs(seconds[At(a)] - seconds[At(b)]) <= kSame * seconds[At(a)];
}

}  // namespace

void Repair(SearchState& state) {
  constexpr double kTinySeconds = 1e-12;
  for (int step = 0; step < 4 * state.graph().size(); ++step) {
    const SearchScore now = state.score();
    if (now.fits()) return;
    std::optional<Moves> best;
    double best_price = 0;
    int best_gain = 0;
    ForEachMove(state, [&](Moves& moves) {
      Moves back = moves;
      Apply(state, back);
      const SearchScore then = state.score();
      Apply(state, back);
      const int gain = now.impossible - then.impossible;
      if (gain < 0 || (gain == 0 && then.excess >= now.excess)) return;
      // Seconds for each byte; of what could not run at all, seconds alone.
      const double bytes =
          now.excess > then.excess ? static_cast<double>(now.excess - then.excess) : 1.0;
      const double seconds = then.seconds - now.seconds;
      const double price =
          seconds > 0 ? (seconds + kTinySeconds) / bytes : seconds * bytes;  // cheapest: both gain
      if (best && (gain < best_gain || (gain == best_gain && price >= best_price))) return;
      best = moves;
      best_price = price;
      best_gain = gain;
    });
    if (!best) return;
    Apply(state, *best);
    state.Refresh();
  }
}

void Improve(SearchState& state, int sweeps, bool exchanges) {
  const auto attempt = [&](Moves& moves, bool& changed) {
    const SearchScore now = state.score();
    Moves back = moves;
    Apply(state, back);
    if (Better(state.score(), now)) {
      changed = true;
    } else {
      Apply(state, back);
    }
  };
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    state.Refresh();
    bool changed = false;
    ForEachMove(state, [&](Moves& moves) { attempt(moves, changed); });
    if (changed) continue;
    if (exchanges) ForEachExchange(state, [&](Moves& moves) { attempt(moves, changed); });
    if (!changed) return;
  }
}

namespace {

// The evenest of the states that a cut of `from`'s blocks gives: those before it, or those from it
// on, go to `to`. False: none is evener, fits and stays under `most_seconds`.
bool Cut(SearchState& state, int from, int to, double most_seconds) {
  const SearchGraph& graph = state.graph();
  double best = state.Imbalance() * (1 - 1e-9);
  Moves chosen;
  for (const bool front : {true, false}) {
    for (int cut = 1; cut < static_cast<int>(graph.blocks.size()); ++cut) {
      Moves moves;
      bool alike = true;
      for (int unit = 0; unit < graph.size(); ++unit) {
        const bool before = graph.units[At(unit)].block < cut;
        if (state.device(unit) != from || before != front) continue;
        alike = alike && Alike(graph, unit, from, to);
        moves.push_back({unit, to});
      }
      if (!alike || moves.empty()) continue;
      Moves back = moves;
      Apply(state, back);
      if (state.score().fits() && state.seconds() <= most_seconds && state.Imbalance() < best) {
        best = state.Imbalance();
        chosen = moves;
      }
      Apply(state, back);
    }
  }
  Apply(state, chosen);
  state.Refresh();
  return !chosen.empty();
}

}  // namespace

void Balance(SearchState& state, double most_seconds) {
  const SearchGraph& graph = state.graph();
  bool changed = true;
  const auto attempt = [&](Moves& moves) {
    for (const UnitMove& move : moves) {
      if (!Alike(graph, move.unit, state.device(move.unit), move.to)) return;
    }
    const double before = state.Imbalance();
    Moves back = moves;
    Apply(state, back);
    const SearchScore then = state.score();
    if (then.fits() && then.seconds <= most_seconds && state.Imbalance() < before * (1 - 1e-9)) {
      changed = true;
    } else {
      Apply(state, back);
    }
  };
  for (int sweep = 0; changed && sweep < graph.size(); ++sweep) {
    changed = false;
    state.Refresh();
    ForEachMove(state, attempt);
    if (!changed) ForEachExchange(state, attempt);
  }
}

void Relieve(SearchState& state, double most_seconds) {
  constexpr double kNearlyFull = 0.75;
  const SearchGraph& graph = state.graph();
  for (int from = 0; from < graph.devices; ++from) {
    for (int to = 0; to < graph.devices; ++to) {
      const auto full = static_cast<double>(state.bytes(from)) /
                        static_cast<double>(std::max<std::uint64_t>(1, graph.capacity[At(from)]));
      if (to != from && full > kNearlyFull) Cut(state, from, to, most_seconds);
    }
  }
}

}  // namespace vt
