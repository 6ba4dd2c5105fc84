#include "engine/weights.h"

#include <algorithm>

#include "cpu/matmul.h"
#include "cpu/quants/dequantize.h"
#include "cpu/quants/quantize.h"
#include "engine/row_arena.h"

namespace vt {
namespace {

std::size_t Index(int tensor) { return static_cast<std::size_t>(tensor); }

bool Cancelled(const std::atomic<bool>* cancel) {
  return cancel && cancel->load(std::memory_order_relaxed);
}

Status Interrupted() { return {Code::kInterrupted, "interrupted"}; }

Status TooSmall(const char* row) {
  return InternalError(std::string("memory row \"") + row + "\": the plan is too small");
}

// A tensor's bytes in one piece: in the mapping, or copied to `room`.
const std::byte* Whole(const GgufFile& file, const GgufTensor& tensor,
                       std::vector<std::byte>& room) {
  if (const std::byte* data = file.Data(tensor)) return data;
  room.resize(tensor.bytes);
  file.CopyTo(tensor, room.data());
  return room.data();
}

std::vector<float> Decode(const GgufFile& file, int tensor) {
  const GgufTensor& t = file.tensors()[Index(tensor)];
  std::vector<float> values(t.cols() * t.rows());
  std::vector<std::byte> room;
  DequantizeRow(t.type, Whole(file, t, room), values.data(),
                static_cast<std::int64_t>(values.size()));
  return values;
}

// A row of a tensor decoded; `scaled` is of a tensor with scales, and its data is set.
void DecodeRow(const GgufTensor& tensor, const std::byte* data, std::uint64_t row, Weight scaled,
               std::vector<float>& values) {
  const auto cols = static_cast<std::int64_t>(tensor.cols());
  const std::byte* from = data + row * RowBytes(tensor.type, tensor.cols());
  if (!scaled.scales.values) return DequantizeRow(tensor.type, from, values.data(), cols);
  scaled.data = from;
  scaled.scales.first_row = static_cast<std::int64_t>(row);
  DequantF8Scalar({.w = scaled, .out = values.data()}, {0, 1});
}

// A matrix row by row as bf16, so that no second copy of all of it is ever held.
Status ExpandMatrix(const GgufFile& file, const ExpandedTensor& planned, DeviceMemory& memory,
                    std::byte* copy) {
  const GgufTensor& tensor = file.tensors()[Index(planned.tensor)];
  std::vector<std::byte> room;
  const WeightRef& ref = planned.matrix;
  std::vector<float> scales;
  if (ref.scales >= 0) scales = Decode(file, ref.scales);
  const Weight scaled{.type = tensor.type,
                      .rows = 1,
                      .cols = ref.cols,
                      .scales = {.values = scales.empty() ? nullptr : scales.data(),
                                 .block_rows = ref.scale_rows,
                                 .block_cols = ref.scale_cols,
                                 .matrix_rows = ref.matrix_rows}};
  const std::byte* data = Whole(file, tensor, room);
  const auto cols = static_cast<std::int64_t>(tensor.cols());
  const std::uint64_t out_bytes = RowBytes(DType::kBF16, tensor.cols());
  std::vector<float> values(tensor.cols());
  std::vector<std::byte> narrow(out_bytes);
  for (std::uint64_t row = 0; row < tensor.rows(); ++row) {
    DecodeRow(tensor, data, row, scaled, values);
    VT_RETURN_IF_ERROR(QuantizeRow(DType::kBF16, values.data(), narrow.data(), cols)
                           .Annotate("tensor \"" + std::string(tensor.name) + "\""));
    VT_RETURN_IF_ERROR(memory.Upload(copy + row * out_bytes, narrow.data(), out_bytes));
  }
  return {};
}

}  // namespace

ModelWeights::ModelWeights(const GgufFile& file, const DevicePlan& device) {
  for (const GgufTensor& tensor : file.tensors()) {
    tensors_.push_back({.type = tensor.type, .row_bytes = RowBytes(tensor.type, tensor.cols())});
  }
  for (const ExpandedTensor& planned : device.expanded) {
    if (planned.type == DType::kF32) continue;
    const GgufTensor& tensor = file.tensors()[Index(planned.tensor)];
    tensors_[Index(planned.tensor)].type = planned.type;
    tensors_[Index(planned.tensor)].row_bytes = RowBytes(planned.type, tensor.cols());
  }
}

void ModelWeights::Map(const GgufFile& file, const DevicePlan& device) {
  for (const KeptTensor& planned : device.mapped) {
    tensors_[Index(planned.tensor)].data = file.Data(file.tensors()[Index(planned.tensor)]);
    mapped_bytes_ += planned.bytes;
  }
}

Status ModelWeights::Upload(const GgufFile& file, const DevicePlan& device, DeviceMemory& memory,
                            const std::atomic<bool>* cancel) {
  std::vector<std::byte> room;
  for (const KeptTensor& planned : device.uploaded) {
    if (Cancelled(cancel)) return Interrupted();
    const GgufTensor& tensor = file.tensors()[Index(planned.tensor)];
    void* copy = uploaded_.Take(tensor.bytes);
    if (!copy) return TooSmall("weights.kept");
    VT_RETURN_IF_ERROR(memory.Upload(copy, Whole(file, tensor, room), tensor.bytes));
    file.Release(tensor);
    tensors_[Index(planned.tensor)].data = static_cast<const std::byte*>(copy);
  }
  return CheckUsedUp(uploaded_, "weights.kept");
}

Status ModelWeights::Gather(const GgufFile& file, const DevicePlan& device,
                            const std::atomic<bool>* cancel) {
  for (const KeptTensor& planned : device.gathered) {
    if (Cancelled(cancel)) return Interrupted();
    const GgufTensor& tensor = file.tensors()[Index(planned.tensor)];
    auto* copy = static_cast<std::byte*>(gathered_.Take(tensor.bytes));
    if (!copy) return TooSmall("weights.gathered");
    file.CopyTo(tensor, copy);
    tensors_[Index(planned.tensor)].data = copy;
  }
  return CheckUsedUp(gathered_, "weights.gathered");
}

Status ModelWeights::Expand(const GgufFile& file, const DevicePlan& device, DeviceMemory& memory,
                            const std::atomic<bool>* cancel) {
  for (const ExpandedTensor& planned : device.expanded) {
    if (Cancelled(cancel)) return Interrupted();
    const GgufTensor& tensor = file.tensors()[Index(planned.tensor)];
    Tensor& t = tensors_[Index(planned.tensor)];
    const auto values = static_cast<std::int64_t>(tensor.cols() * tensor.rows());
    const std::uint64_t bytes = RowBytes(planned.type, static_cast<std::uint64_t>(values));
    auto* copy = static_cast<std::byte*>(expanded_.Take(bytes));
    if (!copy) return TooSmall("weights.expanded");
    if (planned.type != DType::kF32) {
      VT_RETURN_IF_ERROR(ExpandMatrix(file, planned, memory, copy));
      t.data = copy;
    } else {
      const std::vector<float> decoded = Decode(file, planned.tensor);
      VT_RETURN_IF_ERROR(memory.Upload(copy, decoded.data(), bytes));
      t.floats = reinterpret_cast<const float*>(copy);
    }
    if (!device.host()) file.Release(tensor);
  }
  for (Tensor& t : tensors_) {
    if (t.type == DType::kF32 && t.data) t.floats = reinterpret_cast<const float*>(t.data);
  }
  return CheckUsedUp(expanded_, "weights.expanded");
}

void ModelWeights::Point(int tensor, const std::byte* slots, bool floats) {
  Tensor& t = tensors_[Index(tensor)];
  t.data = slots;
  if (floats) t.floats = reinterpret_cast<const float*>(slots);
}

Weight ModelWeights::Matrix(const WeightRef& ref) const {
  Weight weight;
  if (!ref) return weight;
  const Tensor& t = tensors_[Index(ref.tensor)];
  weight.type = t.type;
  weight.rows = ref.rows;
  weight.cols = ref.cols;
  if (t.data) weight.data = t.data + t.row_bytes * static_cast<std::uint64_t>(ref.row_begin);
  if (t.type == DType::kF8_E4M3 && ref.scales >= 0) {
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

ModelWeights ModelWeights::ShapesOnly(const GgufFile& file, const ModelSpec& spec,
                                      const DevicePlan& device) {
  ModelWeights weights(file, device);
  for (const RopeSpec& rope : spec.ropes) {
    weights.ropes_.push_back({std::vector<double>(static_cast<std::size_t>(rope.dims / 2)), 1.0});
  }
  return weights;
}

Result<ModelWeights> ModelWeights::Load(const GgufFile& file, const ModelSpec& spec,
                                        const EnginePlan& plan, const DevicePlan& device,
                                        DeviceMemory& memory, const std::atomic<bool>* cancel) {
  const std::string& id = device.device.id;
  ModelWeights weights(file, device);
  weights.Map(file, device);
  if (!device.host()) {
    VT_ASSIGN_OR_RETURN(weights.uploaded_, RowArena(plan, id, "weights.kept", memory));
    VT_RETURN_IF_ERROR(weights.Upload(file, device, memory, cancel));
  }
  VT_ASSIGN_OR_RETURN(weights.gathered_, RowArena(plan, id, "weights.gathered", memory));
  VT_RETURN_IF_ERROR(weights.Gather(file, device, cancel));
  VT_ASSIGN_OR_RETURN(weights.expanded_, RowArena(plan, id, "weights.expanded", memory));
  VT_RETURN_IF_ERROR(weights.Expand(file, device, memory, cancel));
  for (const RopeSpec& rope : spec.ropes) {
    const WeightRef& factors = RopeFactors(rope, plan.options.context);
    std::vector<float> values;
    if (factors) values = Decode(file, factors.tensor);
    weights.ropes_.push_back(ComputeRope(rope, factors ? values.data() : nullptr));
  }
  return weights;
}

}  // namespace vt
