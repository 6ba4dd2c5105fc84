// How wide the buffers of a step are on one device, from the parts of the model that run there.
#pragma once

#include <vector>

#include "plan/memory_plan.h"

namespace vt {

// The parts that a device runs, wholly or (a matrix that lies away from its part) for one product.
struct PartSet {
  struct Layer {
    bool mixer = false;
    bool ffn = false;
    bool experts = false;
  };
  bool input = false;
  bool output = false;
  std::vector<Layer> layers;
  bool any() const;
};

// Of each device of the placement, in its order.
std::vector<PartSet> PartsByDevice(const ModelSpec& spec, const Placement& placement);

// Reads plan.options and plan.groups.
StepSizes MeasureStep(const ModelSpec& spec, const EnginePlan& plan, const PartSet& parts);

std::uint64_t ActivationBytes(const StepSizes& sizes);
std::uint64_t LogitBytes(const StepSizes& sizes);
std::uint64_t ScratchBytes(const StepSizes& sizes);

}  // namespace vt
