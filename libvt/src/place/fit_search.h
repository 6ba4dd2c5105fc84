// What would fit: contexts, and changes to a request, each tried with the planner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "place/fit.h"
#include "vt/placement.h"

namespace vt {

// Everything on one device, which holds what it does not keep decoded.
Placement PlacementOn(const GgufFile& file, const ModelSpec& spec, const DeviceInfo& device);

// The experts of the first `layers` layers that have some on the host, all else on the device.
Placement ExpertsOnHost(const GgufFile& file, const ModelSpec& spec, const DeviceInfo& device,
                        const DeviceInfo& host, std::int64_t layers);

// The largest context, in whole blocks, whose verdict is kFits; none: not even one
// block, or no budget is known. A block more does not fit, unless it is MostPositions of the model
// or of the draft.
// kInvalid, kUnsupported: MakePlan's.
Result<std::optional<std::uint64_t>> LargestContext(const GgufFile& file, const ModelSpec& spec,
                                                    const FitRequest& request,
                                                    const EngineOptions& options);

// Sets the context of `request` to TrainedContext (held to the draft's MostPositions as well), or,
// where that does not fit, to the largest that does; one block where none does.
Result<ContextChoice> ChooseContext(const GgufFile& file, const ModelSpec& spec,
                                    FitRequest& request);

// Changes after which `request`, whose answer is `fit`, fits better: each alone, and only where
// none of them makes it fit, several together.
std::vector<Remedy> FindRemedies(const GgufFile& file, const ModelSpec& spec,
                                 const FitRequest& request, const Fit& fit);

// Memory against context, for one KV type.
struct FitCurve {
  DType kv_type = DType::kF16;
  std::string refused;  // why the model cannot have this type; empty: it can
  std::optional<std::uint64_t> max_context;
  struct Point {
    std::uint64_t context = 0;
    FitVerdict verdict = FitVerdict::kFits;
    std::vector<std::uint64_t> need_bytes;  // by Fit::devices, in order
  };
  std::vector<Point> points;  // contexts ascend
};

// Of every KV type; contexts from 512 by doubling up to the one that the model was trained for, and
// the request's own. Every point has the devices of `fit`, the answer to the request.
Result<std::vector<FitCurve>> FitCurves(const GgufFile& file, const ModelSpec& spec,
                                        const FitRequest& request, const Fit& fit);

}  // namespace vt
