#include "engine/op_walk.h"

#include "engine/forward.h"
#include "engine/op_runner.h"
#include "engine/step_buffers.h"
#include "engine/weights.h"
#include "plan/memory_plan.h"

namespace vt {

std::string PlaceOf(const NeededOp& op) {
  return op.layer < 0 ? op.place : "blk." + std::to_string(op.layer) + "." + op.place;
}

namespace {

// The pass over no memory, on every device of a plan.
class DryPass {
 public:
  DryPass(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan)
      : spec_(spec), plan_(plan) {
    for (const DevicePlan& device : plan.devices) {
      shapes_.push_back(ModelWeights::ShapesOnly(file, spec, device));
      StepBuffers& none = no_memory_.emplace_back();
      none.rope_tables.assign(spec.ropes.size(), nullptr);
      none.slots.assign(plan.groups.size(), nullptr);
      none.attention_rows.assign(plan.groups.size(), nullptr);
    }
  }

  template <class Forward>
  Status Run(std::int64_t tokens, OpWalk& walk, Forward forward) {
    std::vector<OpRunner> recorders;
    for (std::size_t i = 0; i < plan_.devices.size(); ++i) {
      recorders.emplace_back(plan_.devices[i].device.kind, static_cast<int>(i), tokens, &walk.ops);
    }
    ForwardContext context{.spec = spec_, .plan = plan_, .sides = {}, .crossings = &walk.crossings};
    for (std::size_t i = 0; i < plan_.devices.size(); ++i) {
      context.sides.push_back({&shapes_[i], &no_memory_[i], &recorders[i], nullptr});
    }
    return forward(context, tokens);
  }

 private:
  const ModelSpec& spec_;
  const EnginePlan& plan_;
  std::vector<ModelWeights> shapes_;
  std::vector<StepBuffers> no_memory_;
};

}  // namespace

Result<OpWalk> WalkOps(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan) {
  OpWalk walk;
  DryPass pass(file, spec, plan);
  VT_RETURN_IF_ERROR(pass.Run(1, walk, ForwardLayers));
  if (plan.options.ubatch > 1) {
    VT_RETURN_IF_ERROR(pass.Run(plan.options.ubatch, walk, ForwardLayers));
  }
  VT_RETURN_IF_ERROR(pass.Run(1, walk, ForwardLogits));
  return walk;
}

Result<std::vector<NeededOp>> WalkOps(const GgufFile& file, const ModelSpec& spec,
                                      const EngineOptions& options, const DeviceInfo& device) {
  VT_ASSIGN_OR_RETURN(const EnginePlan plan, MakePlan(file, spec, options, {device}));
  VT_ASSIGN_OR_RETURN(OpWalk walk, WalkOps(file, spec, plan));
  return std::move(walk.ops);
}

}  // namespace vt
