#include "place/place.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/json_writer.h"
#include "place/place_reasons.h"
#include "place/placer.h"
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

bool Nearer(const TriedPlacement& a, const TriedPlacement& b) {
  return a.fit.deficit_bytes.value_or(0) < b.fit.deficit_bytes.value_or(0);
}

}  // namespace

Placer::Placer(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request)
    : file_(file), spec_(spec), request_(request) {
  judge_ = {request.options, request.devices, request.budgets, request.calibration};
}

Status Placer::Prepare() {
  VT_RETURN_IF_ERROR(CheckRequest());
  VT_ASSIGN_OR_RETURN(pins_, ResolvePins(file_, spec_, request_));
  VT_ASSIGN_OR_RETURN(units_, MakeUnits(file_, spec_, request_, pins_));
  return {};
}

Result<TriedPlacement> Placer::Find(Effort effort) const {
  std::optional<TriedPlacement> found;
  for (const bool paging : {false, true}) {
    if (paging && effort == Effort::kBrief) break;
    // The best by paging may be one that does without.
    const SearchOptions options = {.any = effort != Effort::kBest && !paging,
                                   .brief = effort == Effort::kBrief};
    for (const bool expanding : {false, true}) {
      if (expanding && units_.would_expand.empty()) continue;
      const FitVerdict wanted = paging ? FitVerdict::kFitsByPaging : FitVerdict::kFits;
      VT_ASSIGN_OR_RETURN(TriedPlacement tried,
                          Tighten(units_.ProblemOf(expanding, paging), wanted, options));
      if (tried.good) return tried;
      if (!found || Nearer(tried, *found)) found = std::move(tried);
    }
  }
  return std::move(*found);
}

Result<TriedPlacement> Placer::Try(const SearchProblem& problem, FitVerdict wanted,
                                   const SearchOptions& options) const {
  TriedPlacement tried;
  tried.answer = Search(problem, options);
  tried.placement = units_.ToPlacement(file_, spec_, request_, pins_, tried.answer.device);
  EngineOptions engine = request_.options;
  engine.placement = Compacted(tried.placement);
  std::vector<DeviceInfo> devices;
  for (const std::string& id : engine.placement->devices) {
    devices.push_back(*std::find_if(request_.devices.begin(), request_.devices.end(),
                                    [&](const DeviceInfo& one) { return one.id == id; }));
  }
  engine.device = devices.front().id;
  VT_ASSIGN_OR_RETURN(tried.plan, MakePlan(file_, spec_, engine, devices));
  tried.fit = JudgePlan(file_, spec_, tried.plan, judge_);
  // Unknown budgets refuse nothing.
  const FitVerdict verdict = tried.fit.verdict;
  tried.good = tried.answer.fits && (verdict == FitVerdict::kFits ||
                                     verdict == FitVerdict::kCannotTell || verdict == wanted);
  return tried;
}

// The search knows the bytes of a plan to within what parts share; the planner has the last word,
// and where it says more the limits are tightened by that.
Result<TriedPlacement> Placer::Tighten(SearchProblem problem, FitVerdict wanted,
                                       const SearchOptions& options) const {
  for (int round = 0;; ++round) {
    VT_ASSIGN_OR_RETURN(TriedPlacement tried, Try(problem, wanted, options));
    if (!tried.answer.fits || tried.good || round == kTightenings) return tried;
    const std::int64_t over = tried.fit.deficit_bytes.value_or(0);
    for (SearchLimit& limit : problem.limits) {
      std::string where;
      for (const int d : limit.devices) {
        where += (where.empty() ? "" : "+") + request_.devices[At(d)].id;
      }
      if (where != tried.fit.deficit_where && limit.devices.size() == 1) continue;
      limit.bytes -=
          std::min(limit.bytes,
                   static_cast<std::uint64_t>(std::max<std::int64_t>(over, std::int64_t{1} << 20)));
    }
  }
}

Result<PlaceAnswer> Placer::Answer(TriedPlacement tried) const {
  PlaceAnswer answer;
  VT_ASSIGN_OR_RETURN(answer.prediction, PredictSpeed(file_, spec_, tried.plan));
  answer.exact = tried.answer.exact;
  answer.paging = tried.pages();
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

Status Placer::Refusal(const TriedPlacement& nearest) const {
  return DoesNotFit(file_, request_, units_, pins_, nearest.fit);
}

Status Placer::CheckRequest() const {
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

Result<Pin> ParsePin(std::string_view text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) {
    return InvalidError("\"" + ValidUtf8(text) +
                        "\" is no pin; write 'REGEX=DEVICE', as in 'ffn_.*_exps=cpu'");
  }
  return Pin{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

Result<PlaceAnswer> PlaceModel(const GgufFile& file, const ModelSpec& spec,
                               const PlaceRequest& request) {
  Placer placer(file, spec, request);
  VT_RETURN_IF_ERROR(placer.Prepare());
  VT_ASSIGN_OR_RETURN(TriedPlacement found, placer.Find());
  if (!found.good) return placer.Refusal(found);
  return placer.Answer(std::move(found));
}

}  // namespace vt
