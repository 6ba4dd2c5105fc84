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

Result<std::vector<NeededOp>> WalkOps(const GgufFile& file, const ModelSpec& spec,
                                      const EnginePlan& plan, DeviceKind device) {
  std::vector<NeededOp> needed;
  OpRunner recorder(device, &needed);
  const ModelWeights shapes = ModelWeights::ShapesOnly(file, spec);
  StepBuffers no_memory;
  no_memory.rope_tables.assign(spec.ropes.size(), nullptr);
  no_memory.slots.assign(plan.groups.size(), nullptr);
  no_memory.attention_rows.assign(plan.groups.size(), nullptr);
  const ForwardContext context{spec, plan, shapes, no_memory, nullptr, nullptr};
  VT_RETURN_IF_ERROR(ForwardLayers(context, 1, recorder));
  if (plan.options.ubatch > 1) {
    VT_RETURN_IF_ERROR(ForwardLayers(context, plan.options.ubatch, recorder));
  }
  VT_RETURN_IF_ERROR(ForwardLogits(context, 1, recorder));
  return needed;
}

Result<std::vector<NeededOp>> WalkOps(const GgufFile& file, const ModelSpec& spec,
                                      const EngineOptions& options, const DeviceInfo& device) {
  VT_ASSIGN_OR_RETURN(const EnginePlan plan, MakePlan(file, spec, options, device));
  return WalkOps(file, spec, plan, device.kind);
}

}  // namespace vt
