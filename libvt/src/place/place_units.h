// A model as the units of the search: its parts, with the bytes and the time each takes on each
// device, and back from an answer to a placement.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "place/cost_model.h"
#include "place/pins.h"
#include "place/place.h"
#include "place/search.h"
#include "plan/memory_plan.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/placement.h"
#include "vt/status.h"

namespace vt {

struct PlaceUnits {
  SearchProblem problem;
  // Units; -1: the model has no such part.
  int input = -1;
  int output = -1;
  struct Layer {
    int mixer = -1;
    int ffn = -1;
    int experts = -1;
  };
  std::vector<Layer> layers;
  std::vector<int> unit_of;  // by tensor, of matrices; -1
  std::vector<bool> table;   // by tensor: rows are looked up in it, and it lies by itself

  std::vector<std::vector<Held>> held;                   // by device and tensor, of matrices
  std::vector<std::vector<std::uint64_t>> tensor_bytes;  // by device and tensor
  std::vector<std::vector<std::int64_t>> slots;          // by device and layer: expert_slots there
  // Pages of the file that the host maps, in the bytes of each unit there and in the host's base.
  std::vector<std::uint64_t> mapped;
  std::uint64_t base_mapped = 0;
  // Units of experts and devices that would hold them decoded, where another keeps them as they
  // are: they go there first.
  std::vector<std::pair<int, int>> would_expand;
  // By device: "op attention: no kernel was written for hip"; empty: it runs all there is.
  std::vector<std::string> lacks;

  // `expanding`: experts may also be decoded where another device keeps them. `paging`: pages of
  // the file that the host maps count for nothing, since they are read again when room is short.
  SearchProblem ProblemOf(bool expanding, bool paging) const;

  // Of the devices in the request's order. Matrices lie with their part unless pinned.
  Placement ToPlacement(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request,
                        const PinnedTensors& pins, const std::vector<int>& device) const;
};

// MakePlan's errors, kUnsupported: an op that no device runs.
Result<PlaceUnits> MakeUnits(const GgufFile& file, const ModelSpec& spec,
                             const PlaceRequest& request, const PinnedTensors& pins);

}  // namespace vt
