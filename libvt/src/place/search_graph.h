// What the parts of the search work on: the problem with its ties made one, and one answer to it
// that can be changed step by step.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "place/search.h"

namespace vt {

// Units that are tied are one unit here.
struct SearchGraph {
  struct Unit {
    int block = 0;  // 0, 1, .. without gaps
    bool apart = false;
    std::uint64_t work = 0;    // bits
    std::vector<int> members;  // of the problem
    std::vector<double> seconds;
    std::vector<std::uint64_t> bytes;
  };
  explicit SearchGraph(const SearchProblem& problem);

  const SearchProblem& problem;
  int devices = 0;
  std::vector<Unit> units;
  std::vector<SearchEdge> edges;
  std::vector<std::vector<int>> edges_of;  // by unit
  std::vector<std::vector<int>> blocks;    // their units
  // Of each device alone: the least of the limits it is in.
  std::vector<std::uint64_t> capacity;

  int size() const { return static_cast<int>(units.size()); }
  double EdgeSeconds(const SearchEdge& edge, int from, int to) const {
    return edge.seconds[static_cast<std::size_t>(from) * static_cast<std::size_t>(devices) +
                        static_cast<std::size_t>(to)];
  }
  // By unit of the problem.
  std::vector<int> Spread(const std::vector<int>& device) const;
};

// Working memory, asked once for each set.
class WorkMemory {
 public:
  explicit WorkMemory(const SearchProblem& problem)
      : problem_(problem), known_(static_cast<std::size_t>(problem.devices())) {}
  std::uint64_t operator()(int device, std::uint64_t kinds);

 private:
  const SearchProblem& problem_;
  std::vector<std::unordered_map<std::uint64_t, std::uint64_t>> known_;
};

// How good an answer is, worst first.
struct SearchScore {
  int impossible = 0;  // units where they cannot run
  std::uint64_t excess = 0;
  double seconds = 0;
  bool fits() const { return impossible == 0 && excess == 0; }
};
// Whether `a` is better by more than rounding.
bool Better(const SearchScore& a, const SearchScore& b);

class SearchState {
 public:
  SearchState(const SearchGraph& graph, WorkMemory& work, std::vector<int> device);

  void Move(int unit, int device);
  int device(int unit) const { return device_[static_cast<std::size_t>(unit)]; }
  const std::vector<int>& devices() const { return device_; }
  std::uint64_t bytes(int device) const;  // with working memory
  std::uint64_t Excess() const;
  SearchScore score() const { return {impossible_, Excess(), seconds_}; }
  double seconds() const { return seconds_; }
  // What rounding left in a sum that was changed many times.
  void Refresh();
  // Squares of how full the devices are, summed: least where equal devices are equally full.
  double Imbalance() const;
  const SearchGraph& graph() const { return graph_; }

 private:
  void Add(int unit, int device, int sign);

  const SearchGraph& graph_;
  WorkMemory& work_;
  std::vector<int> device_;
  std::vector<std::uint64_t> load_;
  std::vector<std::uint64_t> work_now_;
  std::vector<std::vector<int>> kinds_;  // by device: how many units want each
  int impossible_ = 0;
  double seconds_ = 0;
};

}  // namespace vt
