// The memory planner: every byte of every device, from the header alone.
//
// The engine allocates one arena per private row of this plan and carves it by the same layouts, so
// a prediction and a run cannot differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/step_layout.h"
#include "vt/device.h"
#include "vt/engine.h"
#include "vt/model_spec.h"
#include "vt/placement.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::int64_t kPageCells = 64;  // positions of one page of the KV cache
// Of the host, for what goes from one device to another by way of it.
inline constexpr std::uint64_t kStagingBytes = std::uint64_t{1} << 20;
inline constexpr std::string_view kHostDevice = "cpu";
// Of the host: tensors in the mapping that are copied to slots of other devices.
inline constexpr const char* kStreamedRow = "weights.streamed";
inline constexpr const char* kSlotsRow = "weights.slots";

// Layers whose keys are kept for the same positions share one set of pages.
struct KvGroup {
  std::int64_t window = 0;  // 0: all positions
  bool chunked = false;     // LayerSpec::chunked
  std::vector<int> layers;
  std::int64_t pages = 0;
};

struct KvLayerBytes {
  std::uint64_t key_cell = 0;    // of one position
  std::uint64_t value_cell = 0;  // 0 of a latent layer, whose values are the keys' first part
  std::uint64_t index_cell = 0;  // of its indexer's keys
  int group = -1;                // -1: the layer has no cells of its own
  const char* row = "kv.full";   // that keys and values are in; indexer keys are in kKvIndexer
};
inline constexpr const char* kKvFull = "kv.full";
inline constexpr const char* kKvWindow = "kv.window";
inline constexpr const char* kKvLatent = "kv.latent";
inline constexpr const char* kKvIndexer = "kv.indexer";
inline constexpr const char* kKvRows[] = {kKvFull, kKvWindow, kKvLatent, kKvIndexer};

// The recurrent state of a layer for one sequence.
struct StateLayer {
  std::int64_t conv_floats = 0;
  std::int64_t state_floats = 0;
};

// A tensor that a device holds as the file has it.
struct KeptTensor {
  int tensor = -1;  // index into GgufFile::tensors()
  std::uint64_t bytes = 0;
};

// A tensor that a device holds decoded.
struct ExpandedTensor {
  int tensor = -1;
  DType type = DType::kF32;  // f32: read by kernels as values; bf16: a matrix, Held::kExpanded
  std::uint64_t bytes = 0;
  WeightRef matrix = {};  // of f8_e4m3: all of it, with its scales
};

// What the slots of a layer hold of one tensor: the share of each expert that is there.
struct SlotTensor {
  int tensor = -1;
  bool floats = false;           // biases and scales, which are held as f32
  std::uint64_t file_bytes = 0;  // of one expert in the file
  std::uint64_t bytes = 0;       // and in a slot
};

// A layer that has `slots` of its `experts` on a device at a time (LayerPlacement::expert_slots).
struct SlotLayer {
  int layer = -1;
  std::int64_t experts = 0;
  std::int64_t slots = 0;
  std::vector<SlotTensor> tensors;  // matrices, each followed by its bias and scales
  std::uint64_t BytesOf(const SlotTensor& tensor) const;  // of all slots, aligned
  std::uint64_t expert_bytes() const;                     // of one expert in its slot
};

// What one device of the placement does and holds.
struct DevicePlan {
  DeviceInfo device;
  bool used = false;  // false: no part of the model is here, nothing is allocated
  StepSizes sizes;
  std::vector<KeptTensor> mapped;    // on the host, in the mapping
  std::vector<KeptTensor> gathered;  // on the host: those that do not lie in one piece
  std::vector<KeptTensor> uploaded;  // to any other device
  std::vector<ExpandedTensor> expanded;
  std::vector<SlotLayer> slots;  // never of the host, which maps what is copied there
  bool host() const { return device.kind == DeviceKind::kCpu; }
};

struct EnginePlan {
  EngineOptions options;  // with every default filled in
  Placement placement;
  std::vector<KvGroup> groups;
  std::vector<KvLayerBytes> kv;     // by layer
  std::vector<StateLayer> states;   // by layer; empty where none recurs
  std::vector<DevicePlan> devices;  // as in the placement
  // Of used devices, in their order; then the host's for others: staging, weights.streamed.
  std::vector<MemoryRow> rows;

  // Of all devices, or of one.
  std::uint64_t RowBytes(std::string_view row) const;
  std::uint64_t RowBytes(std::string_view device, std::string_view row) const;
  int MixerOf(int layer) const { return placement.layers[static_cast<std::size_t>(layer)].mixer; }
};

// kInvalid: an option out of range, or a placement that CheckPlacement refuses. kUnsupported: a KV
// type this model's heads cannot use. `devices` are those of options.placement, in its order; or
// one, that everything is on.
Result<EnginePlan> MakePlan(const GgufFile& file, const ModelSpec& spec,
                            const EngineOptions& options, const std::vector<DeviceInfo>& devices);

// The devices that `options` name, in the placement's order. kNotFound: one is not here;
// LimitIsa's errors.
Result<std::vector<DeviceInfo>> ChooseDevices(const EngineOptions& options);

// kNoMemory naming the first private row that does not fit in what its device has available, with
// the bytes needed and left. Unknown memory fits.
Status CheckFits(const EnginePlan& plan);
// The same of one device of the plan as `device` says it is.
Status CheckFits(const EnginePlan& plan, const DeviceInfo& device);

}  // namespace vt
