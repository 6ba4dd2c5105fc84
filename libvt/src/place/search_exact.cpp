// Branch and bound over the units in order.
#include <algorithm>

#include "place/search_parts.h"

namespace vt {
namespace {

std::size_t At(int index) { return static_cast<std::size_t>(index); }

class Branches {
 public:
  Branches(const SearchGraph& graph, WorkMemory& work, const SearchBound& bound, std::int64_t nodes,
           std::vector<int>& best, double& best_seconds)
      : graph_(graph), work_(work), nodes_(nodes), best_(best), best_seconds_(best_seconds) {
    const std::size_t n = At(graph.devices);
    byte_price_.resize(n);
    for (std::size_t l = 0; l < bound.charge.size(); ++l) {
      const SearchLimit& limit = graph.problem.limits[l];
      for (const int d : limit.devices) byte_price_[At(d)] += bound.charge[l];
      charged_ += bound.charge[l] * static_cast<double>(limit.bytes);
    }
    rest_.resize(At(graph.size()) + 1);
    charged_rest_.resize(At(graph.size()) + 1);
    for (int u = graph.size() - 1; u >= 0; --u) {
      double least = kCannotRun, charged = kCannotRun;
      for (int d = 0; d < graph.devices; ++d) {
        least = std::min(least, graph.units[At(u)].seconds[At(d)]);
        charged = std::min(charged, Charged(u, d));
      }
      rest_[At(u)] = rest_[At(u + 1)] + least;
      charged_rest_[At(u)] = charged_rest_[At(u + 1)] + charged;
    }
    device_.resize(At(graph.size()));
    load_ = graph.problem.base_bytes;
    kinds_ = graph.problem.base_work;
  }

  bool Run() {
    double charged = -charged_;
    for (int d = 0; d < graph_.devices; ++d) {
      charged += byte_price_[At(d)] * static_cast<double>(load_[At(d)] + work_(d, kinds_[At(d)]));
    }
    return Visit(0, 0, charged);
  }

 private:
  double Charged(int unit, int d) const {
    const SearchGraph::Unit& u = graph_.units[At(unit)];
    return u.seconds[At(d)] + byte_price_[At(d)] * static_cast<double>(u.bytes[At(d)]);
  }

  bool Fits() const {
    for (const SearchLimit& limit : graph_.problem.limits) {
      std::uint64_t sum = 0;
      for (const int d : limit.devices) sum += load_[At(d)] + work_(d, kinds_[At(d)]);
      if (sum > limit.bytes) return false;
    }
    return true;
  }

  // `seconds` of the units before this one; `charged` the same with what their bytes cost, less
  // what the limits pay for. False: out of nodes.
  bool Visit(int unit, double seconds, double charged) {
    if (unit == graph_.size()) {
      if (seconds < best_seconds_) {
        best_seconds_ = seconds;
        best_ = device_;
      }
      return true;
    }
    struct Branch {
      double added, seconds, charged;
      int device;
    };
    std::vector<Branch> branches;
    for (int d = 0; d < graph_.devices; ++d) {
      double added = graph_.units[At(unit)].seconds[At(d)];
      if (added == kCannotRun) continue;
      for (const int e : graph_.edges_of[At(unit)]) {
        const SearchEdge& edge = graph_.edges[At(e)];
        if (edge.to == unit) added += graph_.EdgeSeconds(edge, device_[At(edge.from)], d);
      }
      const double priced =
          added + byte_price_[At(d)] * static_cast<double>(graph_.units[At(unit)].bytes[At(d)]);
      branches.push_back({added, seconds + added, charged + priced, d});
    }
    std::stable_sort(branches.begin(), branches.end(),
                     [](const Branch& a, const Branch& b) { return a.charged < b.charged; });
    for (const Branch& branch : branches) {
      const double least = std::max(branch.seconds + rest_[At(unit + 1)],
                                    branch.charged + charged_rest_[At(unit + 1)]);
      if (least >= best_seconds_ * (1 - 1e-9)) continue;
      if (--nodes_ < 0) return false;
      const std::size_t d = At(branch.device);
      const SearchGraph::Unit& u = graph_.units[At(unit)];
      const std::uint64_t kinds = kinds_[d];
      load_[d] += u.bytes[d];
      kinds_[d] |= u.work;
      device_[At(unit)] = branch.device;
      const bool finished = !Fits() || Visit(unit + 1, branch.seconds, branch.charged);
      load_[d] -= u.bytes[d];
      kinds_[d] = kinds;
      if (!finished) return false;
    }
    return true;
  }

  const SearchGraph& graph_;
  WorkMemory& work_;
  std::int64_t nodes_;
  std::vector<int>& best_;
  double& best_seconds_;
  std::vector<double> byte_price_;
  double charged_ = 0;
  std::vector<double> rest_, charged_rest_;
  std::vector<int> device_;
  std::vector<std::uint64_t> load_, kinds_;
};

}  // namespace

bool FindExact(const SearchGraph& graph, WorkMemory& work, const SearchBound& bound,
               std::int64_t nodes, std::vector<int>& best, double& best_seconds) {
  return Branches(graph, work, bound, nodes, best, best_seconds).Run();
}

}  // namespace vt
