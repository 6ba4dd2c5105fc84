// The Lagrangian dual by subgradient ascent: with limits charged for, the best answer of a forest
// of units is found exactly, from the leaves up.
#include <algorithm>
#include <numeric>

#include "place/search_parts.h"

namespace vt {
namespace {

constexpr int kRounds = 200;

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// A forest of some of the edges. The others cost nothing, which keeps the bound a bound.
class Forest {
 public:
  explicit Forest(const SearchGraph& graph) : graph_(graph) {
    std::vector<int> root(At(graph.size()));
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int u) {
      while (root[At(u)] != u) u = root[At(u)] = root[At(root[At(u)])];
      return u;
    };
    std::vector<std::vector<int>> edges_of(At(graph.size()));
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
      const SearchEdge& edge = graph.edges[i];
      const int a = find(edge.from), b = find(edge.to);
      if (a == b) continue;
      root[At(a)] = b;
      edges_of[At(edge.from)].push_back(static_cast<int>(i));
      edges_of[At(edge.to)].push_back(static_cast<int>(i));
    }
    parent_edge_.assign(At(graph.size()), -1);
    std::vector<bool> seen(At(graph.size()));
    for (int first = 0; first < graph.size(); ++first) {
      if (seen[At(first)]) continue;
      seen[At(first)] = true;
      order_.push_back(first);
      for (std::size_t next = order_.size() - 1; next < order_.size(); ++next) {
        for (const int e : edges_of[At(order_[next])]) {
          const SearchEdge& edge = graph.edges[At(e)];
          const int child = edge.from == order_[next] ? edge.to : edge.from;
          if (seen[At(child)]) continue;
          seen[At(child)] = true;
          parent_edge_[At(child)] = e;
          order_.push_back(child);
        }
      }
    }
  }

  // The least sum for `price` (by unit and device), and where it is reached.
  double Solve(const std::vector<double>& price, std::vector<int>& device) {
    const int n = graph_.devices;
    below_ = price;
    choice_.assign(price.size(), 0);
    double total = 0;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const int unit = *it;
      const double* mine = &below_[At(unit * n)];
      const int e = parent_edge_[At(unit)];
      if (e < 0) {
        total += *std::min_element(mine, mine + n);
        continue;
      }
      const SearchEdge& edge = graph_.edges[At(e)];
      const bool first = edge.from == unit;
      const int parent = first ? edge.to : edge.from;
      for (int p = 0; p < n; ++p) {
        double best = kCannotRun;
        for (int d = 0; d < n; ++d) {
          const double here =
              mine[d] + (first ? graph_.EdgeSeconds(edge, d, p) : graph_.EdgeSeconds(edge, p, d));
          if (here < best) {
            best = here;
            choice_[At(unit * n + p)] = d;
          }
        }
        below_[At(parent * n + p)] += best;
      }
    }
    device.resize(order_.size());
    for (const int unit : order_) {
      const int e = parent_edge_[At(unit)];
      if (e < 0) {
        const double* mine = &below_[At(unit * n)];
        device[At(unit)] = static_cast<int>(std::min_element(mine, mine + n) - mine);
      } else {
        const SearchEdge& edge = graph_.edges[At(e)];
        const int parent = edge.from == unit ? edge.to : edge.from;
        device[At(unit)] = choice_[At(unit * n + device[At(parent)])];
      }
    }
    return total;
  }

 private:
  const SearchGraph& graph_;
  std::vector<int> order_;        // parents first
  std::vector<int> parent_edge_;  // -1: a root
  std::vector<double> below_;
  std::vector<int> choice_;
};

}  // namespace

SearchBound FindBound(const SearchGraph& graph, WorkMemory& work, double best_seconds) {
  const SearchProblem& problem = graph.problem;
  const int n = graph.devices;
  const std::size_t limits = problem.limits.size();
  // What a limit leaves to the units, and in what measure it is charged: the limit itself.
  std::vector<double> room(limits), scale(limits), charge(limits), best_charge(limits);
  for (std::size_t l = 0; l < limits; ++l) {
    double used = 0;
    for (const int d : problem.limits[l].devices) {
      used += static_cast<double>(problem.base_bytes[At(d)] + work(d, problem.base_work[At(d)]));
    }
    scale[l] = std::max(1.0, static_cast<double>(problem.limits[l].bytes));
    room[l] = (static_cast<double>(problem.limits[l].bytes) - used) / scale[l];
  }
  Forest forest(graph);
  SearchBound bound;
  bound.seconds = 0;
  std::vector<double> price(At(graph.size() * n)), slope(limits);
  std::vector<int> device;
  double step = 1.0;
  int since = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> byte_price(At(n));
    for (std::size_t l = 0; l < limits; ++l) {
      for (const int d : problem.limits[l].devices) byte_price[At(d)] += charge[l] / scale[l];
    }
    for (int u = 0; u < graph.size(); ++u) {
      const SearchGraph::Unit& unit = graph.units[At(u)];
      for (int d = 0; d < n; ++d) {
        price[At(u * n + d)] =
            unit.seconds[At(d)] + byte_price[At(d)] * static_cast<double>(unit.bytes[At(d)]);
      }
    }
    double value = forest.Solve(price, device);
    if (value == kCannotRun) {  // a unit that no device can run
      bound.seconds = kCannotRun;
      break;
    }
    for (std::size_t l = 0; l < limits; ++l) value -= charge[l] * room[l];
    if (round == 0 || value > bound.seconds + 1e-12) {
      bound.seconds = value;
      best_charge = charge;
      since = 0;
      bound.answers.push_back(device);
    } else if (++since == 8) {
      step /= 2;
      since = 0;
    }
    double norm = 0;
    for (std::size_t l = 0; l < limits; ++l) {
      slope[l] = -room[l];
      for (int u = 0; u < graph.size(); ++u) {
        const int d = device[At(u)];
        const std::vector<int>& on = problem.limits[l].devices;
        if (std::find(on.begin(), on.end(), d) == on.end()) continue;
        slope[l] += static_cast<double>(graph.units[At(u)].bytes[At(d)]) / scale[l];
      }
      if (slope[l] < 0 && charge[l] == 0) slope[l] = 0;
      norm += slope[l] * slope[l];
    }
    if (norm < 1e-18) break;
    const double goal = best_seconds < kCannotRun ? best_seconds : 2 * bound.seconds + 1e-9;
    const double by = step * std::max(goal - value, 1e-6 * std::abs(value)) / norm;
    for (std::size_t l = 0; l < limits; ++l) charge[l] = std::max(0.0, charge[l] + by * slope[l]);
  }
  for (std::size_t l = 0; l < limits; ++l) best_charge[l] /= scale[l];
  bound.charge = std::move(best_charge);
  return bound;
}

}  // namespace vt
