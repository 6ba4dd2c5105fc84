// The weights of a model where kernels read them: views of the mapped file or of a device's copy,
// and f32 copies of the tensors that kernels read as f32.
#pragma once

#include <vector>

#include "device/device_memory.h"
#include "models/rope.h"
#include "ops/args.h"
#include "plan/memory_plan.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {

// A norm's weight and bias; rows is how many heads have a weight of their own. weight is null in
// the guard's dry pass.
struct NormWeights {
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t rows = 1;
};

class ModelWeights {
 public:
  // Places the weights of one device as the plan says, in `memory`, which must outlive them, as
  // must `file`. Reads the tensors it expands, gathers or uploads, and the rope factors.
  // kInterrupted when `cancel` is set meanwhile.
  static Result<ModelWeights> Load(const GgufFile& file, const ModelSpec& spec,
                                   const EnginePlan& plan, const DevicePlan& device,
                                   DeviceMemory& memory, const std::atomic<bool>* cancel);
  // The same shapes and types over no memory, for the guard.
  static ModelWeights ShapesOnly(const GgufFile& file, const ModelSpec& spec,
                                 const DevicePlan& device);

  // Of a tensor that Load leaves out: the first of its experts' slots. `floats`: of f32 values.
  void Point(int tensor, const std::byte* slots, bool floats);

  Weight Matrix(const WeightRef& ref) const;
  // The ref's values as f32; null where there is no ref, or no memory.
  const float* Floats(const WeightRef& ref) const;
  NormWeights Norm(const LinearRef& ref) const;

  // Per ModelSpec::ropes.
  const RopeFrequencies& rope(std::size_t index) const { return ropes_[index]; }
  std::uint64_t mapped_bytes() const { return mapped_bytes_; }
  std::uint64_t uploaded_bytes() const { return uploaded_.taken(); }
  std::uint64_t gathered_bytes() const { return gathered_.taken(); }
  std::uint64_t expanded_bytes() const { return expanded_.taken(); }

 private:
  struct Tensor {
    DType type = DType::kF32;  // of `data`
    std::uint64_t row_bytes = 0;
    const std::byte* data = nullptr;
    const float* floats = nullptr;  // where it is read as f32
  };

  ModelWeights(const GgufFile& file, const DevicePlan& device);
  void Map(const GgufFile& file, const DevicePlan& device);
  Status Upload(const GgufFile& file, const DevicePlan& device, DeviceMemory& memory,
                const std::atomic<bool>* cancel);
  Status Gather(const GgufFile& file, const DevicePlan& device, const std::atomic<bool>* cancel);
  Status Expand(const GgufFile& file, const DevicePlan& device, DeviceMemory& memory,
                const std::atomic<bool>* cancel);

  std::vector<Tensor> tensors_;  // as in the file
  std::vector<RopeFrequencies> ropes_;
  std::uint64_t mapped_bytes_ = 0;
  Arena uploaded_;
  Arena gathered_;
  Arena expanded_;
};

}  // namespace vt
