#include "place/fit_search.h"

#include <algorithm>
#include <set>

#include "base/size_text.h"
#include "ops/resolve.h"
#include "plan/placement.h"

namespace vt {
namespace {

constexpr DType kKvTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};
constexpr std::uint64_t kBlock = kContextBlock;

const DeviceInfo* FindInfo(const FitRequest& request, std::string_view id) {
  for (const DeviceInfo& device : request.devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

void HoldByDevice(const GgufFile& file, const std::vector<DeviceInfo>& devices,
                  Placement& placement) {
  for (std::size_t i = 0; i < placement.tensors.size(); ++i) {
    const int device = placement.tensors[i];
    if (device < 0) continue;
    const bool kept = Keeps(devices[static_cast<std::size_t>(device)], file.tensors()[i].type).yes;
    placement.held[i] = kept ? Held::kKept : Held::kExpanded;
  }
}

// The smallest of [low, high] for which `good` holds, which holds for all above it too; none: not
// even for high.
template <class Good>
std::optional<std::int64_t> Smallest(std::int64_t low, std::int64_t high, Good good) {
  if (low > high || !good(high)) return std::nullopt;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (good(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Tries changes and keeps those that change the verdict.
class RemedySearch {
 public:
  RemedySearch(const GgufFile& file, const ModelSpec& spec, const FitRequest& request,
               const Fit& fit)
      : file_(file), spec_(spec), request_(request), fit_(fit) {}

  std::vector<Remedy> Find() {
    BesideOnHost();
    Context();
    KvTypes();
    Ubatch();
    if (!request_.options.placement) {
      Experts();
      OtherDevices();
    }
    const bool fits = std::any_of(found_.begin(), found_.end(), [](const Remedy& remedy) {
      return remedy.verdict == FitVerdict::kFits;
    });
    if (!fits) Several();
    return std::move(found_);
  }

 private:
  EngineOptions options() const { return request_.options; }

  std::optional<Fit> Answer(const EngineOptions& options) const {
    return Answer(options, request_);
  }
  std::optional<Fit> Answer(const EngineOptions& options, const FitRequest& request) const {
    Result<Fit> fit = JudgeOptions(file_, spec_, request, options);
    if (!fit.ok()) return std::nullopt;
    return std::move(fit).value();
  }
  bool Fits(const EngineOptions& options) const {
    const std::optional<Fit> fit = Answer(options);
    return fit && fit->yes();
  }

  // Keeps the change where the verdict becomes a better one.
  bool Keep(std::string_view kind, const EngineOptions& options, Remedy remedy = {}) {
    return Keep(kind, options, request_, std::move(remedy));
  }
  bool Keep(std::string_view kind, const EngineOptions& options, const FitRequest& request,
            Remedy remedy) {
    const std::optional<Fit> fit = Answer(options, request);
    if (!fit || fit->verdict >= fit_.verdict) return false;
    remedy.kind = kind;
    remedy.context = fit->options.context;
    remedy.kv_type = fit->options.kv_type;
    remedy.ubatch = fit->options.ubatch;
    remedy.verdict = fit->verdict;
    remedy.where = fit_.deficit_where;
    remedy.need_bytes = NeedAt(*fit, remedy.where);
    remedy.saved_bytes = SignedDifference(NeedAt(fit_, remedy.where), remedy.need_bytes);
    found_.push_back(std::move(remedy));
    return true;
  }

  std::optional<std::uint64_t> Largest(const EngineOptions& with) const {
    const auto largest = LargestContext(file_, spec_, request_, with);
    if (!largest.ok() || !*largest || **largest >= request_.options.context) return std::nullopt;
    return **largest;
  }

  // What runs beside the model goes first: the model's own answers do not change.
  void BesideOnHost() {
    const bool draft = !fit_.draft_device.empty() && fit_.draft_device != kHostDevice;
    const bool projector = !fit_.mmproj_device.empty() && fit_.mmproj_device != kHostDevice;
    const auto keep = [&](std::string_view kind, bool move_draft, bool move_projector) {
      FitRequest changed = request_;
      Remedy remedy;
      if (move_draft) changed.beside.draft->device = remedy.draft_device = kHostDevice;
      if (move_projector) changed.beside.projector->device = remedy.mmproj_device = kHostDevice;
      return Keep(kind, options(), changed, std::move(remedy));
    };
    const bool kept_projector = projector && keep("mmproj_on_cpu", false, true);
    const bool kept_draft = draft && keep("draft_on_cpu", true, false);
    if (draft && projector && !kept_draft && !kept_projector) keep("several", true, true);
  }

  void Context() {
    EngineOptions with = options();
    if (const auto largest = Largest(with)) {
      with.context = *largest;
      Keep("context", with);
    }
  }

  void KvTypes() {
    for (const DType type : {DType::kF16, DType::kQ8_0}) {
      EngineOptions with = options();
      if (RowBytes(type, 32) >= RowBytes(with.kv_type, 32)) continue;
      with.kv_type = type;
      if (Keep("kv_type", with)) return;
    }
  }

  void Ubatch() {
    EngineOptions with = options();
    for (std::int64_t ubatch = fit_.options.ubatch / 2; ubatch >= 16; ubatch /= 2) {
      with.ubatch = ubatch;
      if (Keep("ubatch", with)) return;
    }
  }

  void Experts() {
    const DeviceInfo* device = FindInfo(request_, request_.options.device);
    const DeviceInfo* host = FindInfo(request_, kHostDevice);
    if (device == nullptr || host == nullptr || device == host) return;
    const auto layers = static_cast<std::int64_t>(
        std::count_if(spec_.layers.begin(), spec_.layers.end(),
                      [](const LayerSpec& layer) { return layer.moe.experts > 0; }));
    const auto with = [&](std::int64_t count) {
      EngineOptions changed = options();
      changed.placement = ExpertsOnHost(file_, spec_, *device, *host, count);
      return changed;
    };
    // What the device needs shrinks with every layer; whether the host has room is asked then.
    const auto count = Smallest(1, layers, [&](std::int64_t some) {
      const std::optional<Fit> fit = Answer(with(some));
      if (!fit) return false;
      const DeviceFit& there = fit->devices.front();
      return there.left_bytes && *there.left_bytes >= 0;
    });
    if (!count) return;
    Remedy remedy;
    remedy.expert_layers = *count;
    Keep("experts_on_cpu", with(*count), remedy);
  }

  void OtherDevices() {
    for (const DeviceInfo& device : request_.devices) {
      if (device.id == request_.options.device) continue;
      EngineOptions with = options();
      with.device = device.id;
      Remedy remedy;
      remedy.device = device.id;
      Keep("device", with, remedy);
    }
  }

  void Several() {
    EngineOptions with = options();
    with.ubatch = std::min<std::int64_t>(with.ubatch, 64);
    for (const DType type : {with.kv_type, DType::kQ8_0}) {
      if (RowBytes(type, 32) > RowBytes(with.kv_type, 32)) continue;
      with.kv_type = type;
      if (!Fits(with)) {
        const auto largest = Largest(with);
        if (!largest) continue;
        with.context = *largest;
      }
      if (Keep("several", with)) return;
      with.context = request_.options.context;
    }
  }

  const GgufFile& file_;
  const ModelSpec& spec_;
  const FitRequest& request_;
  const Fit& fit_;
  std::vector<Remedy> found_;
};

}  // namespace

Placement PlacementOn(const GgufFile& file, const ModelSpec& spec, const DeviceInfo& device) {
  Placement placement = WholePlacement(file, spec, device.id);
  HoldByDevice(file, {device}, placement);
  return placement;
}

Placement ExpertsOnHost(const GgufFile& file, const ModelSpec& spec, const DeviceInfo& device,
                        const DeviceInfo& host, std::int64_t layers) {
  Placement placement;
  placement.devices = {device.id, host.id};
  placement.layers.resize(spec.layers.size());
  for (std::size_t i = 0; i < spec.layers.size() && layers > 0; ++i) {
    if (spec.layers[i].moe.experts == 0) continue;
    placement.layers[i].experts = 1;
    --layers;
  }
  PlaceTensors(file, spec, placement);
  HoldByDevice(file, {device, host}, placement);
  return placement;
}

namespace {

std::uint64_t MostPositions(const ModelSpec& spec, const FitRequest& request) {
  const std::uint64_t most = MostPositions(spec);
  return request.beside.draft ? std::min(most, MostPositions(*request.beside.draft->spec)) : most;
}

}  // namespace

Result<std::optional<std::uint64_t>> LargestContext(const GgufFile& file, const ModelSpec& spec,
                                                    const FitRequest& request,
                                                    const EngineOptions& options) {
  EngineOptions with = options;
  Status failure;
  const auto fits = [&](std::uint64_t context) {
    with.context = context;
    const Result<Fit> fit = JudgeOptions(file, spec, request, with);
    if (!fit.ok()) failure = fit.status();
    return fit.ok() && fit->yes();
  };
  const std::uint64_t most = MostPositions(spec, request);
  std::optional<std::uint64_t> answer;
  if (fits(most)) {
    answer = most;
  } else if (most > kBlock && failure.ok() && fits(kBlock)) {
    const std::uint64_t blocks = (most + kBlock - 1) / kBlock;
    answer = kBlock * LargestThatFits(1, blocks, [&](std::uint64_t n) { return fits(n * kBlock); });
  }
  if (!failure.ok()) return failure;
  return answer;
}

Result<ContextChoice> ChooseContext(const GgufFile& file, const ModelSpec& spec,
                                    FitRequest& request) {
  ContextChoice choice;
  choice.from = std::min(TrainedContext(spec), MostPositions(spec, request));
  choice.to = choice.from;
  request.options.context = choice.from;
  VT_ASSIGN_OR_RETURN(const Fit whole, JudgeOptions(file, spec, request, request.options));
  if (whole.yes() || whole.verdict == FitVerdict::kCannotTell) return choice;
  VT_ASSIGN_OR_RETURN(const std::optional<std::uint64_t> largest,
                      LargestContext(file, spec, request, request.options));
  choice.to = std::min(choice.from, largest.value_or(kBlock));
  request.options.context = choice.to;
  choice.why = "at " + std::to_string(choice.from) + " " + whole.deficit_where + " needs " +
               SizeText(NeedAt(whole, whole.deficit_where)) + ", " +
               SizeText(*whole.deficit_bytes) + " more than its budget";
  if (!largest) choice.why += "; no context fits";
  return choice;
}

std::vector<Remedy> FindRemedies(const GgufFile& file, const ModelSpec& spec,
                                 const FitRequest& request, const Fit& fit) {
  return RemedySearch(file, spec, request, fit).Find();
}

Result<std::vector<FitCurve>> FitCurves(const GgufFile& file, const ModelSpec& spec,
                                        const FitRequest& request, const Fit& fit) {
  std::set<std::uint64_t> contexts = {fit.options.context};
  const std::uint64_t trained =
      std::min(spec.context_train > 0 ? spec.context_train : fit.options.context,
               MostPositions(spec, request));
  for (std::uint64_t context = 512; context < trained; context *= 2) contexts.insert(context);
  contexts.insert(trained);
  std::vector<FitCurve> curves;
  for (const DType type : kKvTypes) {
    FitCurve& curve = curves.emplace_back();
    curve.kv_type = type;
    EngineOptions with = request.options;
    with.kv_type = type;
    for (const std::uint64_t context : contexts) {
      with.context = context;
      const Result<Fit> answer = JudgeOptions(file, spec, request, with);
      if (answer.status().code() == Code::kUnsupported) {
        curve.refused = answer.status().message();
        break;
      }
      VT_RETURN_IF_ERROR(answer.status());
      FitCurve::Point& point = curve.points.emplace_back();
      point.context = context;
      point.verdict = answer->verdict;
      for (const DeviceFit& device : answer->devices) {
        point.need_bytes.push_back(device.need_bytes);
      }
    }
    if (!curve.refused.empty()) continue;
    VT_ASSIGN_OR_RETURN(curve.max_context, LargestContext(file, spec, request, with));
  }
  return curves;
}

}  // namespace vt
