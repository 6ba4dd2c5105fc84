// Working memory of a device, by the kinds of work that are done there.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "place/place.h"
#include "plan/memory_plan.h"
#include "plan/step_measure.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/placement.h"

namespace vt {

// Units whose buffers are equally wide are of one kind: there are few, whatever the layers.
class WorkKinds {
 public:
  // Reads the options and KV groups of `plan`. `spec` must outlive it.
  WorkKinds(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request,
            EnginePlan plan);

  // 0 to 63. The planner's sizes of that part alone.
  int KindOf(ModelPart part, int layer);

  // Activations, logits, scratch and (but on the host, where it is taken anyway) what the runtime
  // takes, of a device that does this set of kinds; 0 of none. Grows with the set.
  std::uint64_t Bytes(int device, std::uint64_t kinds) const;

 private:
  const ModelSpec& spec_;
  EnginePlan plan_;
  std::vector<std::uint64_t> overhead_;  // by device
  std::map<std::tuple<ModelPart, std::uint64_t, std::vector<std::int64_t>>, int> known_;
  std::vector<PartSet> kinds_;
};

}  // namespace vt
