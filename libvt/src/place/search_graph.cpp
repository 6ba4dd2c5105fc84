#include "place/search_graph.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace vt {
namespace {

constexpr int kWorkKinds = 64;
constexpr double kRounding = 1e-9;  // of a sum of some hundred terms

std::size_t At(int index) { return static_cast<std::size_t>(index); }

}  // namespace

SearchGraph::SearchGraph(const SearchProblem& p) : problem(p), devices(p.devices()) {
  std::map<int, int> by_tie;
  std::vector<int> unit_of;
  for (std::size_t i = 0; i < p.units.size(); ++i) {
    const SearchUnit& from = p.units[i];
    int index = size();
    if (from.tie >= 0) index = by_tie.try_emplace(from.tie, index).first->second;
    unit_of.push_back(index);
    if (index == size()) {
      units.push_back({.block = from.block,
                       .apart = from.apart,
                       .work = 0,
                       .members = {},
                       .seconds = std::vector<double>(At(devices)),
                       .bytes = std::vector<std::uint64_t>(At(devices))});
    }
    Unit& unit = units[At(index)];
    unit.members.push_back(static_cast<int>(i));
    if (from.work >= 0) unit.work |= std::uint64_t{1} << from.work;
    for (int d = 0; d < devices; ++d) {
      unit.seconds[At(d)] += from.seconds[At(d)];
      unit.bytes[At(d)] += from.bytes[At(d)];
    }
  }
  std::map<int, int> block_of;
  for (const Unit& unit : units) block_of[unit.block];
  int next = 0;
  for (auto& [name, index] : block_of) index = next++;
  blocks.resize(At(next));
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i].block = block_of[units[i].block];
    blocks[At(units[i].block)].push_back(static_cast<int>(i));
  }
  std::map<std::pair<int, int>, int> by_ends;
  for (const SearchEdge& edge : p.edges) {
    int from = unit_of[At(edge.from)], to = unit_of[At(edge.to)];
    if (from == to) continue;
    std::vector<double> seconds = edge.seconds;
    if (from > to) {
      for (int a = 0; a < devices; ++a) {
        for (int b = 0; b < devices; ++b) {
          seconds[At(b * devices + a)] = edge.seconds[At(a * devices + b)];
        }
      }
      std::swap(from, to);
    }
    const auto [known, fresh] = by_ends.try_emplace({from, to}, static_cast<int>(edges.size()));
    if (fresh) {
      edges.push_back({from, to, std::move(seconds)});
    } else {
      std::vector<double>& sum = edges[At(known->second)].seconds;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += seconds[i];
    }
  }
  edges_of.resize(units.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    edges_of[At(edges[i].from)].push_back(static_cast<int>(i));
    edges_of[At(edges[i].to)].push_back(static_cast<int>(i));
  }
  capacity.assign(At(devices), std::numeric_limits<std::uint64_t>::max());
  for (const SearchLimit& limit : p.limits) {
    for (const int d : limit.devices) capacity[At(d)] = std::min(capacity[At(d)], limit.bytes);
  }
}

std::vector<int> SearchGraph::Spread(const std::vector<int>& device) const {
  std::vector<int> spread(problem.units.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const int member : units[i].members) spread[At(member)] = device[i];
  }
  return spread;
}

std::uint64_t WorkMemory::operator()(int device, std::uint64_t kinds) {
  if (!problem_.work_bytes) return 0;
  const auto [known, fresh] = known_[At(device)].try_emplace(kinds, 0);
  if (fresh) known->second = problem_.work_bytes(device, kinds);
  return known->second;
}

bool Better(const SearchScore& a, const SearchScore& b) {
  if (a.impossible != b.impossible) return a.impossible < b.impossible;
  if (a.excess != b.excess) return a.excess < b.excess;
  return a.seconds < b.seconds - kRounding * b.seconds;
}

SearchState::SearchState(const SearchGraph& graph, WorkMemory& work, std::vector<int> device)
    : graph_(graph), work_(work), device_(std::move(device)), load_(graph.problem.base_bytes) {
  kinds_.assign(At(graph.devices), std::vector<int>(kWorkKinds));
  for (int d = 0; d < graph.devices; ++d) {
    const std::uint64_t base = graph.problem.base_work[At(d)];
    for (int k = 0; k < kWorkKinds; ++k) kinds_[At(d)][At(k)] = static_cast<int>(base >> k & 1);
  }
  work_now_.resize(At(graph.devices));
  for (int u = 0; u < graph.size(); ++u) Add(u, device_[At(u)], 1);
  Refresh();
}

void SearchState::Add(int unit, int device, int sign) {
  const SearchGraph::Unit& u = graph_.units[At(unit)];
  const std::size_t d = At(device);
  load_[d] = sign > 0 ? load_[d] + u.bytes[d] : load_[d] - u.bytes[d];
  if (u.seconds[d] == kCannotRun) {
    impossible_ += sign;
  } else {
    seconds_ += sign * u.seconds[d];
  }
  for (std::uint64_t bits = u.work; bits != 0; bits &= bits - 1) {
    kinds_[d][At(std::countr_zero(bits))] += sign;
  }
}

void SearchState::Move(int unit, int to) {
  const int from = device(unit);
  if (from == to) return;
  for (const int e : graph_.edges_of[At(unit)]) {
    const SearchEdge& edge = graph_.edges[At(e)];
    const bool first = edge.from == unit;
    const int other = device(first ? edge.to : edge.from);
    seconds_ += first ? graph_.EdgeSeconds(edge, to, other) - graph_.EdgeSeconds(edge, from, other)
                      : graph_.EdgeSeconds(edge, other, to) - graph_.EdgeSeconds(edge, other, from);
  }
  Add(unit, from, -1);
  Add(unit, to, 1);
  device_[At(unit)] = to;
  if (graph_.units[At(unit)].work == 0) return;
  for (const int d : {from, to}) {
    std::uint64_t kinds = 0;
    for (int k = 0; k < kWorkKinds; ++k) {
      if (kinds_[At(d)][At(k)] > 0) kinds |= std::uint64_t{1} << k;
    }
    work_now_[At(d)] = work_(d, kinds);
  }
}

void SearchState::Refresh() {
  seconds_ = 0;
  for (int u = 0; u < graph_.size(); ++u) {
    const double seconds = graph_.units[At(u)].seconds[At(device(u))];
    if (seconds != kCannotRun) seconds_ += seconds;
  }
  for (const SearchEdge& edge : graph_.edges) {
    seconds_ += graph_.EdgeSeconds(edge, device(edge.from), device(edge.to));
  }
  for (int d = 0; d < graph_.devices; ++d) {
    std::uint64_t kinds = 0;
    for (int k = 0; k < kWorkKinds; ++k) {
      if (kinds_[At(d)][At(k)] > 0) kinds |= std::uint64_t{1} << k;
    }
    work_now_[At(d)] = work_(d, kinds);
  }
}

std::uint64_t SearchState::bytes(int device) const {
  return load_[At(device)] + work_now_[At(device)];
}

std::uint64_t SearchState::Excess() const {
  std::uint64_t excess = 0;
  for (const SearchLimit& limit : graph_.problem.limits) {
    std::uint64_t sum = 0;
    for (const int d : limit.devices) sum += bytes(d);
    if (sum > limit.bytes) excess += sum - limit.bytes;
  }
  return excess;
}

double SearchState::Imbalance() const {
  double sum = 0, all = 0;
  for (int d = 0; d < graph_.devices; ++d) all += static_cast<double>(bytes(d));
  for (int d = 0; d < graph_.devices; ++d) {
    const std::uint64_t most = graph_.capacity[At(d)];
    const double room = most == std::numeric_limits<std::uint64_t>::max()
                            ? all
                            : std::max(1.0, static_cast<double>(most));
    const double full = static_cast<double>(bytes(d)) / room;
    sum += full * full;
  }
  return sum;
}

}  // namespace vt
