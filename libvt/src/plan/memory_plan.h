// The memory planner: every byte of every device, from the header alone.
//
// The engine allocates one arena per private row of this plan and carves it by the same layouts, so
// a prediction and a run cannot differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vt/device.h"
#include "vt/engine.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::int64_t kPageCells = 64;  // positions of one page of the KV cache

// Layers whose keys are kept for the same positions share one set of pages.
struct KvGroup {
  std::int64_t window = 0;  // 0: all positions
  std::vector<int> layers;
  std::int64_t pages = 0;
};

struct KvLayerBytes {
  std::uint64_t key_cell = 0;  // of one position
  std::uint64_t value_cell = 0;
  int group = 0;
};

// Sizes of one step's buffers, in elements.
struct StepSizes {
  std::int64_t tokens = 0;  // ubatch
  std::int64_t logit_rows = 0;
  std::int64_t width = 0;
  std::int64_t q = 0;  // widest heads * key_dim
  std::int64_t k = 0;
  std::int64_t v = 0;
  std::int64_t attention = 0;  // widest heads * value_dim
  std::int64_t ffn = 0;
  std::int64_t quantized = 0;  // widest matmul input, a multiple of 32
  std::int64_t vocab = 0;
  std::int64_t rope_values = 0;  // of all rope tables, for one token
  std::int64_t groups = 0;
  std::int64_t scratch_floats = 0;  // of one thread
  std::int64_t threads = 0;
};

// A tensor of the file that is copied to a device's own memory.
struct UploadedTensor {
  int tensor = -1;  // index into GgufFile::tensors()
  std::uint64_t bytes = 0;
};

// A weight that kernels need as f32 but the file holds otherwise.
struct ExpandedWeight {
  WeightRef ref;
  std::uint64_t bytes = 0;
};

struct EnginePlan {
  EngineOptions options;  // with every default filled in
  std::vector<KvGroup> groups;
  std::vector<KvLayerBytes> kv;  // by layer
  StepSizes sizes;
  std::vector<UploadedTensor> uploaded;  // empty on the CPU, which reads them in the mapping
  std::vector<ExpandedWeight> expanded;
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
