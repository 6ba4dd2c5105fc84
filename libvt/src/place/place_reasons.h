// What a placement says for itself: a reason for each tensor, notes on what a reader should know,
// and the refusal when nothing fits.
#pragma once

#include <string>
#include <vector>

#include "place/fit.h"
#include "place/place_units.h"

namespace vt {

// By tensor; empty where it has no device. `placement` is of the request's devices, in their order.
std::vector<std::string> ReasonsFor(const GgufFile& file, const ModelSpec& spec,
                                    const PlaceRequest& request, const PlaceUnits& units,
                                    const PinnedTensors& pins, const Placement& placement);

// Expansions, kernels that are not there, rates that are assumed, paging.
std::vector<std::string> NotesOn(const GgufFile& file, const ModelSpec& spec,
                                 const PlaceRequest& request, const PlaceUnits& units,
                                 const Placement& placement, const Fit& fit);

// kNo: the pin that asks for most on the device that is short, or the device alone; need, budget,
// deficit. `fit` is that of what came nearest.
Status DoesNotFit(const GgufFile& file, const PlaceRequest& request, const PlaceUnits& units,
                  const PinnedTensors& pins, const Fit& fit);

}  // namespace vt
