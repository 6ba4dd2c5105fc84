// What expert slots cost: the copies from the host that a step waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "place/cost_model.h"
#include "plan/memory_plan.h"
#include "vt/model_spec.h"

namespace vt {

// Of a step, with every expert as likely to be chosen and to be in a slot: routers have favourites,
// so that fewer are copied.
struct SlotCopies {
  double experts = 0;  // that are chosen and not there
  double copies = 0;   // single ones: of each tensor of an expert, and of the router's choices
  double bytes = 0;
};
SlotCopies CopiesOf(const SlotLayer& layer, std::int64_t used, std::int64_t tokens);

// The seconds that a step spends on them.
double SlotSeconds(const CostModel& model, int device, const SlotLayer& layer, std::int64_t used,
                   std::int64_t tokens);

// For each device with slots what they spare and what they cost:
// "cuda:0: 8 of 64 experts at a time in 26 layers, 1.2 GiB instead of 9.6 GiB; ..."
std::vector<std::string> SlotNotes(const ModelSpec& spec, const EnginePlan& plan);

}  // namespace vt
