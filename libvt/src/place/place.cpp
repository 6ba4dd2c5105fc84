#include "place/place.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/json_writer.h"
#include "place/fit.h"
#include "place/place_reasons.h"
#include "place/place_units.h"
#include "place/slot_cost.h"
#include "plan/placement.h"

namespace vt {
namespace {

constexpr int kTightenings = 4;

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// Leaves out the devices that nothing is on.
Placement Compacted(const Placement& placement) {
  std::set<int> used = {placement.input, placement.output};
  for (const LayerPlacement& layer : placement.layers) {
    used.insert({layer.mixer, layer.ffn, layer.experts});
  }
  for (const int device : placement.tensors) {
    if (device >= 0) used.insert(device);
  }
  std::vector<int> now(placement.devices.size(), -1);
  Placement compact = placement;
  compact.devices.clear();
  for (const int device : used) {
    now[At(device)] = static_cast<int>(compact.devices.size());
    compact.devices.push_back(placement.devices[At(device)]);
  }
  compact.input = now[At(placement.input)];
  compact.output = now[At(placement.output)];
  for (LayerPlacement& layer : compact.layers) {
    layer.mixer = now[At(layer.mixer)];
    layer.ffn = now[At(layer.ffn)];
    layer.experts = now[At(layer.experts)];
  }
  for (int& device : compact.tensors) device = device < 0 ? -1 : now[At(device)];
  return compact;
}

// An answer of the search as a plan, and the verdict on it.
struct Tried {
  SearchAnswer answer;
  Placement placement;  // of the request's devices
  EnginePlan plan;      // of those that are used
  Fit fit;
};

class Placer {
 public:
  Placer(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request)
      : file_(file), spec_(spec), request_(request) {
    judge_ = {request.options, request.devices, request.budgets, request.calibration};
  }

  Result<PlaceAnswer> Run() {
    VT_RETURN_IF_ERROR(CheckRequest());
    VT_ASSIGN_OR_RETURN(pins_, ResolvePins(file_, spec_, request_));
    VT_ASSIGN_OR_RETURN(units_, MakeUnits(file_, spec_, request_, pins_));
    // Decoding what another device keeps comes after all that avoids it, and paging last.
    std::optional<Tried> found;
    for (const bool paging : {false, true}) {
      for (const bool expanding : {false, true}) {
        if (expanding && units_.would_expand.empty()) continue;
        const FitVerdict wanted = paging ? FitVerdict::kFitsByPaging : FitVerdict::kFits;
        VT_ASSIGN_OR_RETURN(Tried tried, Find(units_.ProblemOf(expanding, paging), wanted));
        const bool good = Good(tried, wanted);
        if (good || !found || Nearer(tried, *found)) found = std::move(tried);
        if (good) return Answer(*found);
      }
    }
    return DoesNotFit(file_, request_, units_, pins_, found->fit);
  }

 private:
  Result<PlaceAnswer> Answer(Tried& tried) const {
    PlaceAnswer answer;
    VT_ASSIGN_OR_RETURN(answer.prediction, PredictSpeed(file_, spec_, tried.plan));
    answer.exact = tried.answer.exact;
    answer.paging = tried.fit.verdict == FitVerdict::kFitsByPaging;
    answer.reasons = ReasonsFor(file_, spec_, request_, units_, pins_, tried.placement);
    answer.notes = SlotNotes(spec_, tried.plan);
    if (request_.expert_slots > 0 && answer.notes.empty()) {
      answer.notes.push_back("--expert-slots " + std::to_string(request_.expert_slots) +
                             ": no layer has slots, for its experts lie on the cpu, are no more "
                             "than that, or are not all held as the file has them");
    }
    const auto notes = NotesOn(file_, spec_, request_, units_, tried.placement, tried.fit);
    answer.notes.insert(answer.notes.end(), notes.begin(), notes.end());
    answer.plan = std::move(tried.plan);
    return answer;
  }

  Status CheckRequest() const {
    if (request_.devices.empty()) return InvalidError("devices: none is given; name at least one");
    if (request_.options.placement) {
      return InvalidError("placement: the options have one already; leave it out");
    }
    if (request_.expert_slots > 0 &&
        std::none_of(spec_.layers.begin(), spec_.layers.end(),
                     [](const LayerSpec& layer) { return layer.moe.experts > 0; })) {
      return InvalidError("--expert-slots: the model has no experts; leave it out");
    }
    return {};
  }

  // Unknown budgets refuse nothing.
  static bool Good(const Tried& tried, FitVerdict wanted) {
    const FitVerdict verdict = tried.fit.verdict;
    if (!tried.answer.fits) return false;
    return verdict == FitVerdict::kFits || verdict == FitVerdict::kCannotTell || verdict == wanted;
  }

  static bool Nearer(const Tried& a, const Tried& b) {
    return a.fit.deficit_bytes.value_or(0) < b.fit.deficit_bytes.value_or(0);
  }

  Result<Tried> Try(const SearchProblem& problem) const {
    Tried tried;
    tried.answer = Search(problem);
    tried.placement = units_.ToPlacement(file_, spec_, request_, pins_, tried.answer.device);
    EngineOptions options = request_.options;
    options.placement = Compacted(tried.placement);
    std::vector<DeviceInfo> devices;
    for (const std::string& id : options.placement->devices) {
      devices.push_back(*std::find_if(request_.devices.begin(), request_.devices.end(),
                                      [&](const DeviceInfo& one) { return one.id == id; }));
    }
    options.device = devices.front().id;
    VT_ASSIGN_OR_RETURN(tried.plan, MakePlan(file_, spec_, options, devices));
    tried.fit = JudgePlan(file_, spec_, tried.plan, judge_);
    return tried;
  }

  // The search knows the bytes of a plan to within what parts share; the planner has the last word,
  // and where it says more the limits are tightened by that.
  Result<Tried> Find(SearchProblem problem, FitVerdict wanted) const {
    for (int round = 0;; ++round) {
      VT_ASSIGN_OR_RETURN(Tried tried, Try(problem));
      if (!tried.answer.fits || Good(tried, wanted) || round == kTightenings) return tried;
      const std::int64_t over = tried.fit.deficit_bytes.value_or(0);
      for (SearchLimit& limit : problem.limits) {
        std::string where;
        for (const int d : limit.devices) {
          where += (where.empty() ? "" : "+") + request_.devices[At(d)].id;
        }
        if (where != tried.fit.deficit_where && limit.devices.size() == 1) continue;
        limit.bytes -= std::min(limit.bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(
                                                 over, std::int64_t{1} << 20)));
      }
    }
  }

  const GgufFile& file_;
  const ModelSpec& spec_;
  const PlaceRequest& request_;
  FitRequest judge_;
  PinnedTensors pins_;
  PlaceUnits units_;
};

}  // namespace

Result<Pin> ParsePin(std::string_view text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) {
    return InvalidError("pin \"" + ValidUtf8(text) +
                        "\": must be REGEX=DEVICE, as in "
                        "'ffn_.*_exps=cpu'");
  }
  return Pin{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

Result<PlaceAnswer> PlaceModel(const GgufFile& file, const ModelSpec& spec,
                               const PlaceRequest& request) {
  return Placer(file, spec, request).Run();
}

}  // namespace vt
