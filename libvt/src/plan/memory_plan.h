// The memory planner: every byte of every device, from the header alone.
//
// The engine allocates one arena per private row of this plan and carves it by the same layouts, so
// a prediction and a run cannot differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/step_layout.h"
#include "vt/device.h"
#include "vt/engine.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::int64_t kPageCells = 64;  // positions of one page of the KV cache

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
};

// The recurrent state of a layer for one sequence.
struct StateLayer {
  std::int64_t conv_floats = 0;
  std::int64_t state_floats = 0;
};

// A tensor of the file that is copied to a device's own memory.
struct UploadedTensor {
  int tensor = -1;  // index into GgufFile::tensors()
  std::uint64_t bytes = 0;
};

// A tensor that kernels need as f32 but the file holds otherwise.
struct ExpandedTensor {
  int tensor = -1;
  std::uint64_t bytes = 0;
};

struct EnginePlan {
  EngineOptions options;  // with every default filled in
  std::vector<KvGroup> groups;
  std::vector<KvLayerBytes> kv;    // by layer
  std::vector<StateLayer> states;  // by layer; empty where none recurs
  StepSizes sizes;
  std::vector<UploadedTensor> uploaded;  // empty on the CPU, which reads them in the mapping
  std::vector<UploadedTensor> gathered;  // on the CPU: those that do not lie in one piece
  std::vector<ExpandedTensor> expanded;
  std::vector<MemoryRow> rows;

  std::uint64_t RowBytes(std::string_view row) const;
};

// kInvalid: an option out of range. kUnsupported: a KV type this model's heads cannot use.
Result<EnginePlan> MakePlan(const GgufFile& file, const ModelSpec& spec,
                            const EngineOptions& options, const DeviceInfo& device);

// The device that `options` name. kNotFound: there is no such device here; LimitIsa's errors.
Result<DeviceInfo> ChooseDevice(const EngineOptions& options);

// kNoMemory naming the first private row that does not fit in what the device has available, with
// the bytes needed and left. Unknown memory fits.
Status CheckFits(const EnginePlan& plan, const DeviceInfo& device);

}  // namespace vt
