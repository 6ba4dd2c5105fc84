#include "place/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "models/spec_weights.h"
#include "ops/op_facts.h"
#include "place/slot_cost.h"

namespace vt {
namespace {

// Mean number of positions that the rows of a prompt of `tokens` read, each at most `most`.
double MeanPositions(double tokens, double most) {
  if (tokens <= most) return (tokens + 1) / 2;
  return (most * (most + 1) / 2 + (tokens - most) * most) / tokens;
}

// What a share of the time goes to.
struct Share {
  int device = 0;
  std::string what;
  double seconds = 0;
};

class Shares {
 public:
  void Add(int device, std::string what, double seconds) {
    total_ += seconds;
    for (Share& share : shares_) {
      if (share.device != device || share.what != what) continue;
      share.seconds += seconds;
      return;
    }
    shares_.push_back({device, std::move(what), seconds});
  }
  double total() const { return total_; }
  // "cpu: reading weights of experts, 71 % of the time"
  std::string Largest(const EnginePlan& plan) const {
    const auto largest =
        std::max_element(shares_.begin(), shares_.end(),
                         [](const Share& a, const Share& b) { return a.seconds < b.seconds; });
    if (largest == shares_.end() || total_ <= 0) return {};
    const auto device = static_cast<std::size_t>(largest->device);
    char percent[16];
    std::snprintf(percent, sizeof percent, ", %.0f %%", 100 * largest->seconds / total_);
    return plan.placement.devices[device] + ": " + largest->what + percent + " of the time";
  }

 private:
  std::vector<Share> shares_;
  double total_ = 0;
};

}  // namespace

ModelPart PartOfOp(const NeededOp& op) {
  const bool experts = op.place == "ffn_gather" || op.place == "ffn_exps_act" ||
                       op.place == "ffn_combine" || std::holds_alternative<ExpertSortArgs>(op.call);
  return experts ? ModelPart::kExperts : PartOf(op.layer, op.place);
}

CostModel::CostModel(const ModelSpec& spec, const EngineOptions& options,
                     const std::vector<DeviceInfo>& devices, const SpeedAt& at)
    : spec_(spec), devices_(devices) {
  decode_position_ = at.decode_position > 0 ? at.decode_position : options.context;
  prompt_tokens_ = at.prompt_tokens > 0 ? at.prompt_tokens : options.context;
  ubatch_ = std::max<std::int64_t>(
      1, std::min(options.ubatch, static_cast<std::int64_t>(prompt_tokens_)));
  if (const auto tier = ParseTier(options.lowest_tier); tier.ok()) resolve_.lowest = *tier;
  for (const auto& [op, kernel] : options.forced_kernels) resolve_.forced.emplace(op, kernel);
  for (const DeviceInfo& device : devices) rates_.emplace_back(device);
}

double CostModel::PromptSteps() const { return 1 / static_cast<double>(ubatch_); }

std::string CostModel::Missing(int device) const {
  const auto d = static_cast<std::size_t>(device);
  const std::string& missing = rates_[d].missing();
  return missing.empty() ? missing : missing + " of " + devices_[d].id;
}

double CostModel::Positions(const NeededOp& op) const {
  double most = std::numeric_limits<double>::infinity();
  if (op.layer >= 0) {
    const LayerSpec& layer = spec_.layers[static_cast<std::size_t>(op.layer)];
    if (layer.window > 0) most = static_cast<double>(layer.window);
    const auto* attention = std::get_if<AttentionArgs>(&op.call);
    if (attention && attention->page_cells == 1 && layer.latent.indexer.top > 0) {
      most = std::min(most, static_cast<double>(layer.latent.indexer.top));
    }
  }
  if (op.tokens > 1) return MeanPositions(static_cast<double>(prompt_tokens_), most);
  return std::min(most, static_cast<double>(decode_position_));
}

OpTime CostModel::TimeOfCall(const AnyArgs& call, double positions, int device,
                             Verdict* refused) const {
  const auto d = static_cast<std::size_t>(device);
  return std::visit(
      [&](const auto& args) -> OpTime {
        const auto kernel = Resolve(BuiltinKernels(), devices_[d], args, resolve_);
        if (!kernel.ok() && refused && refused->refusal == Refusal::kNone) {
          *refused = NearestCause(Explain(BuiltinKernels(), devices_[d], args, resolve_));
        }
        if (!kernel.ok() || !(*kernel)->compose) {
          return rates_[d].TimeOf(WorkOf(call, positions),
                                  kernel.ok() && (*kernel)->tier == Tier::kReference);
        }
        OpTime sum, longest;
        for (const AnyArgs& part : (*kernel)->compose(args)) {
          const OpTime time = TimeOfCall(part, positions, device, refused);
          sum.seconds += time.seconds;
          if (time.seconds > longest.seconds) longest = time;
        }
        sum.bound = longest.bound;
        return sum;
      },
      call);
}

OpTime CostModel::TimeOf(const NeededOp& op, int device, Verdict* refused) const {
  return TimeOfCall(op.call, Positions(op), device, refused);
}

double CostModel::CrossingSeconds(int from, int to, double bytes) const {
  if (from == to) return 0;
  const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
  return vt::CrossingSeconds(devices_[a], rates_[a], devices_[b], rates_[b], bytes);
}

double CostModel::HostCopySeconds(int device, double copies, double bytes) const {
  const auto d = static_cast<std::size_t>(device);
  return vt::HostCopySeconds(devices_[d], rates_[d], copies, bytes);
}

Result<Prediction> PredictSpeed(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan,
                                const SpeedAt& at) {
  std::vector<DeviceInfo> devices;
  for (const DevicePlan& device : plan.devices) devices.push_back(device.device);
  const CostModel model(spec, plan.options, devices, at);
  Prediction prediction;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (!plan.devices[d].used) continue;
    const std::string missing = model.Missing(static_cast<int>(d));
    if (missing.empty()) continue;
    prediction.missing.append(prediction.missing.empty() ? "" : "; ").append(missing);
  }
  if (!prediction.missing.empty()) return prediction;
  // Of the steps that are walked, the longer one stands for those of a prompt.
  EnginePlan walked = plan;
  walked.options.ubatch =
      std::min(plan.options.ubatch, static_cast<std::int64_t>(model.prompt_tokens()));
  VT_ASSIGN_OR_RETURN(const OpWalk walk, WalkOps(file, spec, walked));
  const bool steps = walked.options.ubatch > 1;
  Shares decode, prefill;
  const auto add = [&](std::int64_t tokens, bool output, int device, const std::string& what,
                       double seconds) {
    if (tokens == 1) decode.Add(device, what, seconds);
    if ((tokens > 1) == steps && !output) prefill.Add(device, what, seconds * model.PromptSteps());
    // Of a prompt only the last token's logits are made.
    if (output) prefill.Add(device, what, seconds / static_cast<double>(model.prompt_tokens()));
  };
  for (const NeededOp& op : walk.ops) {
    const OpTime time = model.TimeOf(op, op.device);
    const ModelPart part = PartOfOp(op);
    add(op.tokens, part == ModelPart::kOutput, op.device,
        std::string(NameOf(time.bound)).append(" of ").append(NameOf(part)), time.seconds);
  }
  for (const Crossing& crossing : walk.crossings) {
    add(crossing.tokens, PartOf(crossing.layer, crossing.place) == ModelPart::kOutput, crossing.to,
        "values from " + plan.placement.devices[static_cast<std::size_t>(crossing.from)],
        model.CrossingSeconds(crossing.from, crossing.to, static_cast<double>(crossing.bytes)));
  }
  for (std::size_t d = 0; d < devices.size(); ++d) {
    for (const SlotLayer& layer : plan.devices[d].slots) {
      const std::int64_t used = spec.layers[static_cast<std::size_t>(layer.layer)].moe.used;
      const int device = static_cast<int>(d);
      const auto copy = [&](std::int64_t tokens) {
        add(tokens, false, device, "copying experts to their slots",
            SlotSeconds(model, device, layer, used, tokens));
      };
      copy(1);
      if (steps) copy(walked.options.ubatch);
    }
  }
  prediction.decode_tok_per_s = 1 / decode.total();
  prediction.prefill_tok_per_s = 1 / prefill.total();
  prediction.decode_bottleneck = decode.Largest(plan);
  prediction.prefill_bottleneck = prefill.Largest(plan);
  return prediction;
}

}  // namespace vt
