// One request for a placement, at its context: what the search finds, and what the planner says of
// it.
#pragma once

#include "place/fit.h"
#include "place/pins.h"
#include "place/place.h"
#include "place/place_units.h"
#include "place/search.h"

namespace vt {

// An answer of the search as a plan, and the verdict on it.
struct TriedPlacement {
  SearchAnswer answer;
  Placement placement;  // of the request's devices
  EnginePlan plan;      // of those that are used
  Fit fit;
  bool good = false;  // it fits, maybe by paging, or no budget is known
  bool pages() const { return fit.verdict == FitVerdict::kFitsByPaging; }
};

class Placer {
 public:
  // All three must outlive it.
  Placer(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request);

  // Pins and units. PlaceModel's errors but kNo.
  Status Prepare();

  enum class Effort {
    kBest,   // the best placement that fits
    kAny,    // one that fits: found whenever kBest finds one
    kBrief,  // the same, and only at first sight: that none fits is a guess, paging is not tried
  };

  // Where none fits, the nearest that was tried. Decoding what another device keeps comes after all
  // that avoids it, and paging last.
  Result<TriedPlacement> Find(Effort effort = Effort::kBest) const;

  // Of a good one.
  Result<PlaceAnswer> Answer(TriedPlacement tried) const;
  // kNo: what the nearest lacks.
  Status Refusal(const TriedPlacement& nearest) const;

 private:
  Status CheckRequest() const;
  Result<TriedPlacement> Try(const SearchProblem& problem, FitVerdict wanted,
                             const SearchOptions& options) const;
  Result<TriedPlacement> Tighten(SearchProblem problem, FitVerdict wanted,
                                 const SearchOptions& options) const;

  const GgufFile& file_;
  const ModelSpec& spec_;
  const PlaceRequest& request_;
  FitRequest judge_;
  PinnedTensors pins_;
  PlaceUnits units_;
};
}  // namespace vt
