#include "engine/weights.h"

#include <algorithm>

#include "cpu/quants/dequantize.h"
#include "engine/row_arena.h"

namespace vt {
namespace {

std::size_t Index(int tensor) { return static_cast<std::size_t>(tensor); }

std::vector<float> Decode(const GgufFile& file, int tensor) {
  const GgufTensor& t = file.tensors()[Index(tensor)];
  std::vector<float> values(t.cols() * t.rows());
  std::vector<std::byte> bytes;
  const std::byte* data = file.Data(t);
  if (!data) {
    bytes.resize(t.bytes);
    file.CopyTo(t, bytes.data());
    data = bytes.data();
  }
  DequantizeRow(t.type, data, values.data(), static_cast<std::int64_t>(values.size()));
  return values;
}

}  // namespace

ModelWeights::ModelWeights(const GgufFile& file, bool read) {
  for (const GgufTensor& tensor : file.tensors()) {
    Tensor& t = tensors_.emplace_back();
    t.type = tensor.type;
    t.row_bytes = RowBytes(tensor.type, tensor.cols());
    if (read) t.data = file.Data(tensor);
  }
}

Status ModelWeights::Upload(const GgufFile& file, const EnginePlan& plan, DeviceMemory& memory,
                            const std::atomic<bool>* cancel) {
  VT_ASSIGN_OR_RETURN(uploaded_, RowArena(plan, "weights", memory));
  for (const UploadedTensor& planned : plan.uploaded) {
    if (cancel && cancel->load(std::memory_order_relaxed)) {
      return {Code::kInterrupted, "interrupted"};
    }
    const GgufTensor& tensor = file.tensors()[Index(planned.tensor)];
    Tensor& t = tensors_[Index(planned.tensor)];
    void* copy = uploaded_.Take(tensor.bytes);
    if (!copy) return InternalError("memory row \"weights\": the plan is too small");
    std::vector<std::byte> whole;
    if (!t.data) {
      whole.resize(tensor.bytes);
      file.CopyTo(tensor, whole.data());
      t.data = whole.data();
    }
    VT_RETURN_IF_ERROR(memory.Upload(copy, t.data, tensor.bytes));
    t.data = static_cast<const std::byte*>(copy);
  }
  return CheckUsedUp(uploaded_, "weights");
}

Status ModelWeights::Gather(const GgufFile& file, const EnginePlan& plan, DeviceMemory& memory,
                            const std::atomic<bool>* cancel) {
  if (plan.gathered.empty()) return {};
  VT_ASSIGN_OR_RETURN(gathered_, RowArena(plan, "weights_gathered", memory));
  for (const UploadedTensor& planned : plan.gathered) {
    if (cancel && cancel->load(std::memory_order_relaxed)) {
      return {Code::kInterrupted, "interrupted"};
    }
    const GgufTensor& tensor = file.tensors()[Index(planned.tensor)];
    auto* copy = static_cast<std::byte*>(gathered_.Take(tensor.bytes));
    if (!copy) return InternalError("memory row \"weights_gathered\": the plan is too small");
    file.CopyTo(tensor, copy);
    tensors_[Index(planned.tensor)].data = copy;
  }
  return CheckUsedUp(gathered_, "weights_gathered");
}

Status ModelWeights::Expand(const GgufFile& file, const EnginePlan& plan, DeviceMemory& memory) {
  VT_ASSIGN_OR_RETURN(expanded_, RowArena(plan, "weights_expanded", memory));
  for (const ExpandedTensor& planned : plan.expanded) {
    const std::vector<float> values = Decode(file, planned.tensor);
    auto* copy = expanded_.TakeArray<float>(static_cast<std::int64_t>(values.size()));
    if (!copy) return InternalError("memory row \"weights_expanded\": the plan is too small");
    VT_RETURN_IF_ERROR(memory.Upload(copy, values.data(), values.size() * sizeof(float)));
    tensors_[Index(planned.tensor)].floats = copy;
  }
  for (Tensor& t : tensors_) {
    if (t.type == DType::kF32) t.floats = reinterpret_cast<const float*>(t.data);
  }
  return CheckUsedUp(expanded_, "weights_expanded");
}

Weight ModelWeights::Matrix(const WeightRef& ref) const {
  Weight weight;
  if (!ref) return weight;
  const Tensor& t = tensors_[Index(ref.tensor)];
  weight.type = t.type;
  weight.rows = ref.rows;
  weight.cols = ref.cols;
  if (t.data) weight.data = t.data + t.row_bytes * static_cast<std::uint64_t>(ref.row_begin);
  if (ref.scales >= 0) {
    weight.scales = {.values = tensors_[Index(ref.scales)].floats,
                     .block_rows = ref.scale_rows,
                     .block_cols = ref.scale_cols,
                     .matrix_rows = ref.matrix_rows,
                     .first_row = ref.row_begin};
  }
  return weight;
}

const float* ModelWeights::Floats(const WeightRef& ref) const {
  if (!ref || !tensors_[Index(ref.tensor)].floats) return nullptr;
  // row_begin counts the values of a vector, and the rows of a matrix.
  return tensors_[Index(ref.tensor)].floats + ref.row_begin * (ref.rows > 1 ? ref.cols : 1);
}

NormWeights ModelWeights::Norm(const LinearRef& ref) const {
  return {Floats(ref.weight), Floats(ref.bias), std::max<std::int64_t>(1, ref.weight.rows)};
}

ModelWeights ModelWeights::ShapesOnly(const GgufFile& file, const ModelSpec& spec) {
  ModelWeights weights(file, false);
  for (const RopeSpec& rope : spec.ropes) {
    weights.ropes_.push_back({std::vector<double>(static_cast<std::size_t>(rope.dims / 2)), 1.0});
  }
  return weights;
}

Result<ModelWeights> ModelWeights::Load(const GgufFile& file, const ModelSpec& spec,
                                        const EnginePlan& plan, DeviceMemory& memory,
                                        const std::atomic<bool>* cancel) {
  ModelWeights weights(file, true);
  VT_RETURN_IF_ERROR(weights.Upload(file, plan, memory, cancel));
  VT_RETURN_IF_ERROR(weights.Gather(file, plan, memory, cancel));
  VT_RETURN_IF_ERROR(weights.Expand(file, plan, memory));
  for (const RopeSpec& rope : spec.ropes) {
    const WeightRef& factors = RopeFactors(rope, plan.options.context);
    std::vector<float> values;
    if (factors) values = Decode(file, factors.tensor);
    weights.ropes_.push_back(ComputeRope(rope, factors ? values.data() : nullptr));
  }
  return weights;
}

}  // namespace vt
