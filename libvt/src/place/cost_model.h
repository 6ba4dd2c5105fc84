// Predicted speed: the time of every op of a step, from its bytes and operations and its device's
// rates, and of everything that crosses from one device to another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/op_walk.h"
#include "ops/resolve.h"
#include "place/device_rates.h"
#include "plan/memory_plan.h"
#include "vt/device.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

struct Prediction {
  // None where a rate that the plan needs is unknown; `missing` says which, of which device.
  std::optional<double> decode_tok_per_s;
  std::optional<double> prefill_tok_per_s;
  std::string decode_bottleneck;   // "cpu: reading weights of experts, 71 % of the time"
  std::string prefill_bottleneck;  // "cuda:0: arithmetic of ffn, 64 % of the time"
  std::string missing;
};

// At which lengths; 0: the plan's context.
struct SpeedAt {
  std::uint64_t decode_position = 0;  // of the token that is decoded: what stands before is read
  std::uint64_t prompt_tokens = 0;    // from an empty cache, in steps of ubatch
};

// Of a plan as it will run.
Result<Prediction> PredictSpeed(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan,
                                const SpeedAt& at = {});

// The part of the model that an op of the forward pass belongs to.
ModelPart PartOfOp(const NeededOp& op);

// Times of single ops. Rates that are unknown are assumed: Missing says which.
class CostModel {
 public:
  CostModel(const ModelSpec& spec, const EngineOptions& options,
            const std::vector<DeviceInfo>& devices, const SpeedAt& at = {});

  // A call on its device, composed kernels as their parts. What no kernel of the device runs is
  // taken to have one, unless `refused` is given: it then gets the verdict.
  OpTime TimeOf(const NeededOp& op, int device, Verdict* refused = nullptr) const;
  double CrossingSeconds(int from, int to, double bytes) const;
  // So many copies between the host's memory and the device's, of so many bytes in all.
  double HostCopySeconds(int device, double copies, double bytes) const;
  // Of a step of ubatch, the share that each token of a prompt takes: a last, shorter step takes
  // less.
  double PromptSteps() const;
  std::string Missing(int device) const;  // "memory_gb_per_s of cuda:0"; empty: nothing
  std::uint64_t prompt_tokens() const { return prompt_tokens_; }

 private:
  double Positions(const NeededOp& op) const;
  OpTime TimeOfCall(const AnyArgs& call, double positions, int device, Verdict* refused) const;

  const ModelSpec& spec_;
  std::int64_t ubatch_;
  std::uint64_t decode_position_;
  std::uint64_t prompt_tokens_;
  ResolveOptions resolve_;
  std::vector<DeviceInfo> devices_;
  std::vector<DeviceRates> rates_;
};

}  // namespace vt
