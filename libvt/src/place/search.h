// The search for a placement, over abstract units: which device each of them goes to, so that the
// time of all together is least and every limit holds.
//
// Goal: the best there is where the instance is small, and elsewhere never worse than filling the
// devices from the front; within half a percent, a device that is nearly full shares with one that
// is alike. Two runs give the same answer: effort is counted, not timed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace vt {

inline constexpr double kCannotRun = std::numeric_limits<double>::infinity();

// What is placed as one, in order of execution.
struct SearchUnit {
  int block = 0;                // units of a block are moved together as well: a layer. Ascending.
  bool apart = false;           // may well lie away from its block: routed experts
  int tie = -1;                 // units of one tie run on one device
  int work = -1;                // the kind of working memory it needs, 0 to 63; -1: none
  std::vector<double> seconds;  // by device; kCannotRun
  std::vector<std::uint64_t> bytes;  // by device
};

// Values go between two units.
struct SearchEdge {
  int from = 0;
  int to = 0;
  std::vector<double>
      seconds;  // [from's device * devices + to's device]; 0 where they are the same
};

// All that lies on these devices together is at most so large.
struct SearchLimit {
  std::vector<int> devices;
  std::uint64_t bytes = 0;
};

struct SearchProblem {
  std::vector<SearchUnit> units;
  std::vector<SearchEdge> edges;
  std::vector<SearchLimit> limits;  // of a device without one: any number of bytes
  // By device: what lies there whatever the answer, and the kinds of work that are done there.
  std::vector<std::uint64_t> base_bytes;
  std::vector<std::uint64_t> base_work;  // bits
  // Working memory of a device that does these kinds of work: grows with the set. Null: none.
  std::function<std::uint64_t(int device, std::uint64_t kinds)> work_bytes;
  // The device that the others are added to; it is filled last. -1: none.
  int host = -1;
  int devices() const { return static_cast<int>(base_bytes.size()); }
};

struct SearchOptions {
  std::int64_t exact_nodes = 400'000;  // of the branch and bound
  int sweeps = 40;                     // of the local search
  bool any = false;    // the first answer that fits will do: whether there is one is the question
  bool brief = false;  // no bound and no proof: that nothing fits is then a guess
};

struct SearchAnswer {
  bool fits = false;        // every unit can run, every limit holds
  bool exact = false;       // nothing is faster (but for that), or (fits false) nothing fits
  std::vector<int> device;  // by unit; of what does not fit, what comes nearest
  double seconds = 0;
  double bound = 0;                  // nothing that fits takes less
  std::vector<std::uint64_t> bytes;  // by device, with working memory
};

SearchAnswer Search(const SearchProblem& problem, const SearchOptions& options = {});

// What `device` (by unit) costs. Infinite: a unit cannot run there, or a tie is broken.
double SecondsOf(const SearchProblem& problem, const std::vector<int>& device);
// By device.
std::vector<std::uint64_t> BytesOf(const SearchProblem& problem, const std::vector<int>& device);
// By how much the limits are exceeded, all of them together; 0: it fits.
std::uint64_t ExcessOf(const SearchProblem& problem, const std::vector<std::uint64_t>& bytes);

}  // namespace vt
