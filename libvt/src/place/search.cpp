#include "place/search.h"

#include <algorithm>
#include <set>

#include "place/search_parts.h"

namespace vt {
namespace {

constexpr std::size_t kImproved = 6;  // starting points that are improved
constexpr double kAsGood = 1 + 1e-6;  // of a bound: nothing is faster
constexpr double kRounding = 1 + 1e-9;
// What relieving a nearly full device may cost: less than any prediction is good for.
constexpr double kReliefSeconds = 1 + 5e-3;

struct Candidate {
  SearchScore score;
  std::vector<int> device;
};

// The best of them, each once.
std::vector<Candidate> Ranked(const SearchGraph& graph, WorkMemory& work,
                              const std::vector<std::vector<int>>& points) {
  std::set<std::vector<int>> seen;
  std::vector<Candidate> ranked;
  for (const std::vector<int>& point : points) {
    if (!seen.insert(point).second) continue;
    ranked.push_back({SearchState(graph, work, point).score(), point});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Candidate& a, const Candidate& b) { return Better(a.score, b.score); });
  return ranked;
}

// Makes `best` the better of the two.
void Keep(const SearchState& state, Candidate& best) {
  const SearchScore score = state.score();
  if (best.device.empty() || Better(score, best.score)) best = {score, state.devices()};
}

SearchAnswer AnswerOf(const SearchProblem& problem, const SearchState& state) {
  SearchAnswer answer;
  answer.fits = state.score().fits();
  answer.device = state.graph().Spread(state.devices());
  answer.seconds = SecondsOf(problem, answer.device);
  answer.bytes = BytesOf(problem, answer.device);
  return answer;
}

}  // namespace

SearchAnswer Search(const SearchProblem& problem, const SearchOptions& options) {
  const SearchGraph graph(problem);
  WorkMemory work(problem);
  Candidate best;
  const std::vector<Candidate> ranked = Ranked(graph, work, StartingPoints(graph, work));
  const auto enough = [&] { return options.any && !best.device.empty() && best.score.fits(); };
  const auto best_answer = [&] { return AnswerOf(problem, SearchState(graph, work, best.device)); };
  const auto improve = [&](const std::vector<int>& start) {
    SearchState state(graph, work, start);
    Repair(state);
    if (!options.any || !state.score().fits()) Improve(state, options.sweeps, false);
    Keep(state, best);
  };
  const std::size_t starts = std::min(kImproved, ranked.size());
  for (std::size_t i = 0; i < starts && !enough(); ++i) improve(ranked[i].device);
  if (options.brief || enough()) return best_answer();
  const auto seconds = [&] { return best.score.fits() ? best.score.seconds : kCannotRun; };
  const SearchBound bound = FindBound(graph, work, seconds());
  // Those met on the way to the bound: the last ones charge what the limits are worth.
  const std::size_t last = std::min<std::size_t>(bound.answers.size(), 3);
  for (std::size_t i = bound.answers.size() - last; i < bound.answers.size() && !enough(); ++i) {
    improve(bound.answers[i]);
  }
  if (enough()) return best_answer();
  bool exact = true;
  if (!best.score.fits() || best.score.seconds > bound.seconds * kAsGood) {
    SearchState state(graph, work, best.device);
    Improve(state, options.sweeps, true);
    Keep(state, best);
    std::vector<int> found = best.score.fits() ? best.device : std::vector<int>();
    double found_seconds = seconds();
    exact = FindExact(graph, work, bound, options.exact_nodes, found, found_seconds);
    if (!found.empty()) Keep(SearchState(graph, work, found), best);
  }
  SearchState state(graph, work, best.device);
  if (best.score.fits()) {
    Balance(state, best.score.seconds * kRounding);
    Relieve(state, best.score.seconds * kReliefSeconds);
    Balance(state, state.seconds() * kRounding);
  }
  SearchAnswer answer = AnswerOf(problem, state);
  answer.exact = exact;
  answer.bound =
      exact && answer.fits ? best.score.seconds : std::min(bound.seconds, best.score.seconds);
  return answer;
}

double SecondsOf(const SearchProblem& problem, const std::vector<int>& device) {
  double seconds = 0;
  const auto n = static_cast<std::size_t>(problem.devices());
  std::vector<int> tied;
  for (std::size_t i = 0; i < problem.units.size(); ++i) {
    const SearchUnit& unit = problem.units[i];
    seconds += unit.seconds[static_cast<std::size_t>(device[i])];
    if (unit.tie < 0) continue;
    const auto tie = static_cast<std::size_t>(unit.tie);
    if (tied.size() <= tie) tied.resize(tie + 1, -1);
    if (tied[tie] < 0) tied[tie] = device[i];
    if (tied[tie] != device[i]) return kCannotRun;
  }
  for (const SearchEdge& edge : problem.edges) {
    const auto from = static_cast<std::size_t>(device[static_cast<std::size_t>(edge.from)]);
    const auto to = static_cast<std::size_t>(device[static_cast<std::size_t>(edge.to)]);
    seconds += edge.seconds[from * n + to];
  }
  return seconds;
}

std::vector<std::uint64_t> BytesOf(const SearchProblem& problem, const std::vector<int>& device) {
  std::vector<std::uint64_t> bytes = problem.base_bytes, kinds = problem.base_work;
  for (std::size_t i = 0; i < problem.units.size(); ++i) {
    const auto d = static_cast<std::size_t>(device[i]);
    bytes[d] += problem.units[i].bytes[d];
    if (problem.units[i].work >= 0) kinds[d] |= std::uint64_t{1} << problem.units[i].work;
  }
  for (std::size_t d = 0; problem.work_bytes && d < bytes.size(); ++d) {
    bytes[d] += problem.work_bytes(static_cast<int>(d), kinds[d]);
  }
  return bytes;
}

std::uint64_t ExcessOf(const SearchProblem& problem, const std::vector<std::uint64_t>& bytes) {
  std::uint64_t excess = 0;
  for (const SearchLimit& limit : problem.limits) {
    std::uint64_t sum = 0;
    for (const int d : limit.devices) sum += bytes[static_cast<std::size_t>(d)];
    if (sum > limit.bytes) excess += sum - limit.bytes;
  }
  return excess;
}

}  // namespace vt
