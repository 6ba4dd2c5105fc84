// Placements: made from the parts, and checked.
#pragma once

#include <string>
#include <vector>

#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/placement.h"
#include "vt/status.h"

namespace vt {

// Everything on one device.
Placement WholePlacement(const GgufFile& file, const ModelSpec& spec, std::string device);

// Places every matrix whose entry of `placement.tensors` is -1 with its part; a matrix that two
// parts share goes with the output. Makes the lists by tensor as long as the file's.
void PlaceTensors(const GgufFile& file, const ModelSpec& spec, Placement& placement);

// kInvalid: lists that do not match the model, an index that is no device, a matrix without a
// device, a layer that reads another's keys on a device that does not hold them, expert slots where
// there can be none.
Status CheckPlacement(const GgufFile& file, const ModelSpec& spec, const Placement& placement);

// Where a part of the placement runs. `layer` counts for the parts that layers have.
int DeviceOf(const Placement& placement, ModelPart part, int layer);

}  // namespace vt
