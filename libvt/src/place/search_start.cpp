// Where the search starts: answers by rule.
#include <algorithm>
#include <numeric>
#include <optional>

#include "place/search_parts.h"

namespace vt {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// Blocks divided into one run for each device, the devices in a given order; units that may lie
// apart are with their block, or, of the first blocks, on a device of their own.
class Runs {
 public:
  Runs(const SearchGraph& graph, WorkMemory& work)
      : graph_(graph),
        work_(work),
        n_(graph.devices),
        blocks_(static_cast<int>(graph.blocks.size())) {
    between_.assign(At(blocks_), std::vector<double>(At(n_ * n_)));
    for (const SearchEdge& edge : graph.edges) {
      const int from = graph.units[At(edge.from)].block, to = graph.units[At(edge.to)].block;
      if (from == to) continue;
      // Of edges between blocks that do not follow each other, as where the second begins.
      std::vector<double>& here = between_[At(std::max(from, to))];
      for (std::size_t i = 0; i < here.size(); ++i) here[i] += edge.seconds[i];
    }
  }

  // What of the first `blocks` blocks may lie apart is on device `apart`.
  void SetApart(int apart, int blocks) {
    away_.assign(At(graph_.size()), false);
    base_ = graph_.problem.base_bytes;
    kinds_ = graph_.problem.base_work;
    for (int u = 0; u < graph_.size(); ++u) {
      const SearchGraph::Unit& unit = graph_.units[At(u)];
      if (apart < 0 || !unit.apart || unit.block >= blocks) continue;
      away_[At(u)] = true;
      base_[At(apart)] += unit.bytes[At(apart)];
      kinds_[At(apart)] |= unit.work;
    }
    apart_ = apart;
    seconds_.assign(At(n_), std::vector<double>(At(blocks_)));
    bytes_.assign(At(n_), std::vector<std::uint64_t>(At(blocks_)));
    work_of_.assign(At(blocks_), 0);
    for (int u = 0; u < graph_.size(); ++u) {
      const SearchGraph::Unit& unit = graph_.units[At(u)];
      const std::size_t b = At(unit.block);
      if (!away_[At(u)]) work_of_[b] |= unit.work;
      for (int d = 0; d < n_; ++d) {
        seconds_[At(d)][b] += unit.seconds[At(DeviceOf(u, d))];
        if (!away_[At(u)]) bytes_[At(d)][b] += unit.bytes[At(d)];
      }
    }
    for (const SearchEdge& edge : graph_.edges) {
      const int block = graph_.units[At(edge.from)].block;
      if (block != graph_.units[At(edge.to)].block) continue;
      for (int d = 0; d < n_; ++d) {
        seconds_[At(d)][At(block)] +=
            graph_.EdgeSeconds(edge, DeviceOf(edge.from, d), DeviceOf(edge.to, d));
      }
    }
  }

  // By unit; none: no division fits.
  std::optional<std::vector<int>> Divide(const std::vector<int>& order) {
    const std::size_t width = At(blocks_) + 1;
    std::vector<std::vector<double>> best(order.size(), std::vector<double>(width, kCannotRun));
    std::vector<std::vector<std::pair<int, int>>> from(
        order.size(), std::vector<std::pair<int, int>>(width, {-1, -1}));
    for (std::size_t p = 0; p < order.size(); ++p) {
      const int d = order[p];
      // Of the runs before, when this one begins at a block.
      std::vector<double> before(width, kCannotRun);
      std::vector<int> who(width, -1);
      before[0] = 0;
      for (int i = 1; i < blocks_; ++i) {
        for (std::size_t q = 0; q < p; ++q) {
          const double seconds = best[q][At(i)] + between_[At(i)][At(order[q] * n_ + d)];
          if (seconds >= before[At(i)]) continue;
          before[At(i)] = seconds;
          who[At(i)] = static_cast<int>(q);
        }
      }
      for (int end = 1; end <= blocks_; ++end) {
        double seconds = 0;
        std::uint64_t bytes = base_[At(d)], kinds = kinds_[At(d)];
        for (int begin = end - 1; begin >= 0; --begin) {
          seconds += seconds_[At(d)][At(begin)];
          bytes += bytes_[At(d)][At(begin)];
          kinds |= work_of_[At(begin)];
          if (seconds == kCannotRun) break;
          if (graph_.capacity[At(d)] != kNoLimit &&
              bytes + work_(d, kinds) > graph_.capacity[At(d)]) {
            break;
          }
          const double all = before[At(begin)] + seconds;
          if (all >= best[p][At(end)]) continue;
          best[p][At(end)] = all;
          from[p][At(end)] = {begin, who[At(begin)]};
        }
      }
    }
    std::size_t last = 0;
    for (std::size_t p = 1; p < order.size(); ++p) {
      if (best[p][At(blocks_)] < best[last][At(blocks_)]) last = p;
    }
    if (best[last][At(blocks_)] == kCannotRun) return std::nullopt;
    std::vector<int> device(At(graph_.size()));
    int end = blocks_;
    for (int p = static_cast<int>(last); end > 0;) {
      const auto [begin, previous] = from[At(p)][At(end)];
      for (int b = begin; b < end; ++b) {
        for (const int u : graph_.blocks[At(b)]) device[At(u)] = DeviceOf(u, order[At(p)]);
      }
      end = begin;
      p = previous;
    }
    return device;
  }

 private:
  int DeviceOf(int unit, int block_device) const { return away_[At(unit)] ? apart_ : block_device; }

  const SearchGraph& graph_;
  WorkMemory& work_;
  int n_;
  int blocks_;
  std::vector<std::vector<double>> between_;  // before a block
  int apart_ = -1;
  std::vector<bool> away_;
  std::vector<std::uint64_t> base_, kinds_;
  std::vector<std::vector<double>> seconds_;
  std::vector<std::vector<std::uint64_t>> bytes_;
  std::vector<std::uint64_t> work_of_;
};

std::vector<std::vector<int>> Orders(int devices) {
  constexpr int kAllOrders = 4;  // 24 of them
  std::vector<int> order(At(devices));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders;
  if (devices <= kAllOrders) {
    do {
      orders.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    return orders;
  }
  for (int first = 0; first < devices; ++first) {
    orders.push_back(order);
    orders.emplace_back(order.rbegin(), order.rend());
    std::rotate(order.begin(), order.begin() + 1, order.end());
  }
  return orders;
}

void AddRuns(const SearchGraph& graph, WorkMemory& work, std::vector<std::vector<int>>& points) {
  Runs runs(graph, work);
  const auto blocks = static_cast<int>(graph.blocks.size());
  const bool apart = std::any_of(graph.units.begin(), graph.units.end(),
                                 [](const SearchGraph::Unit& unit) { return unit.apart; });
  for (const std::vector<int>& order : Orders(graph.devices)) {
    runs.SetApart(-1, 0);
    if (auto found = runs.Divide(order)) points.push_back(std::move(*found));
    for (int d = 0; apart && d < graph.devices; ++d) {
      // The fewest blocks whose parts must lie apart.
      int low = 0, high = blocks;
      std::optional<std::vector<int>> found;
      while (low < high) {
        const int middle = (low + high) / 2;
        runs.SetApart(d, middle);
        if (auto here = runs.Divide(order)) {
          found = std::move(here);
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      if (!found) {
        runs.SetApart(d, blocks);
        found = runs.Divide(order);
      }
      if (found) points.push_back(std::move(*found));
    }
  }
}

// The last `offloaded` blocks on the devices beside the host, in proportion to their limits.
std::vector<int> FromTheLast(const SearchGraph& graph, int offloaded) {
  const int host = graph.problem.host;
  const auto blocks = static_cast<int>(graph.blocks.size());
  std::vector<int> others;
  std::vector<double> share;
  double all = 0;
  for (int d = 0; d < graph.devices; ++d) {
    if (d == host) continue;
    others.push_back(d);
    const bool limited = graph.capacity[At(d)] != kNoLimit;
    all += limited ? static_cast<double>(graph.capacity[At(d)]) : 1e15;
    share.push_back(all);
  }
  std::vector<int> device(At(graph.size()), host < 0 ? 0 : host);
  if (others.empty()) return device;
  for (int b = blocks - offloaded; b < blocks; ++b) {
    const double place =
        static_cast<double>(b - (blocks - offloaded)) / static_cast<double>(offloaded) * all;
    const auto found = std::upper_bound(share.begin(), share.end() - 1, place);
    for (const int u : graph.blocks[At(b)]) {
      device[At(u)] = others[static_cast<std::size_t>(found - share.begin())];
    }
  }
  return device;
}

// The best of that rule that fits: over the number of blocks and of those whose parts that may lie
// apart stay on the host.
void AddFromTheLast(const SearchGraph& graph, WorkMemory& work,
                    std::vector<std::vector<int>>& points) {
  const auto blocks = static_cast<int>(graph.blocks.size());
  const int host = graph.problem.host;
  std::optional<std::pair<SearchScore, std::vector<int>>> best;
  for (int offloaded = host < 0 ? blocks : 0; offloaded <= blocks; ++offloaded) {
    SearchState state(graph, work, FromTheLast(graph, offloaded));
    for (int b = -1; b < blocks; ++b) {
      bool moved = b < 0;
      for (std::size_t i = 0; b >= 0 && host >= 0 && i < graph.blocks[At(b)].size(); ++i) {
        const int u = graph.blocks[At(b)][i];
        if (!graph.units[At(u)].apart || state.device(u) == host) continue;
        state.Move(u, host);
        moved = true;
      }
      if (!moved) continue;
      const SearchScore score = state.score();
      if (!best || Better(score, best->first)) best = {score, state.devices()};
    }
  }
  if (best) points.push_back(std::move(best->second));
}

}  // namespace

std::vector<std::vector<int>> StartingPoints(const SearchGraph& graph, WorkMemory& work) {
  std::vector<std::vector<int>> points;
  points.reserve(At(graph.devices));
  for (int d = 0; d < graph.devices; ++d) points.emplace_back(At(graph.size()), d);
  AddFromTheLast(graph, work, points);
  AddRuns(graph, work, points);
  return points;
}

}  // namespace vt
