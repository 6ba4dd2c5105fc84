#include "engine/weights.h"

#include "cpu/quants/dequantize.h"
#include "engine/row_arena.h"

namespace vt {
namespace {

class WeightMaker {
 public:
  // Shapes only: nothing is read.
  explicit WeightMaker(const GgufFile& file) : file_(file) { UseMapping(); }

  // What is expanded goes to `arena`, which lies in `memory`.
  WeightMaker(const GgufFile& file, Arena* arena, DeviceMemory* memory)
      : file_(file), arena_(arena), memory_(memory) {
    UseMapping();
  }

  // Copies the plan's tensors to `arena` and uses them there.
  Status Upload(const EnginePlan& plan, Arena* arena, const std::atomic<bool>* cancel) {
    for (const UploadedTensor& planned : plan.uploaded) {
      if (cancel && cancel->load(std::memory_order_relaxed)) {
        return {Code::kInterrupted, "interrupted"};
      }
      const auto index = static_cast<std::size_t>(planned.tensor);
      const GgufTensor& tensor = file_.tensors()[index];
      void* copy = arena->Take(tensor.bytes);
      if (!copy) return InternalError("memory row \"weights\": the plan is too small");
      VT_RETURN_IF_ERROR(memory_->Upload(copy, data_[index], tensor.bytes));
      data_[index] = static_cast<const std::byte*>(copy);
    }
    return {};
  }

  Weight View(const WeightRef& ref) const {
    Weight weight;
    if (!ref) return weight;
    const GgufTensor& tensor = file_.tensors()[static_cast<std::size_t>(ref.tensor)];
    weight.type = tensor.type;
    weight.rows = ref.rows;
    weight.cols = ref.cols;
    weight.data = data_[static_cast<std::size_t>(ref.tensor)] +
                  RowBytes(tensor.type, tensor.cols()) * static_cast<std::uint64_t>(ref.row_begin);
    return weight;
  }

  // A vector (or a few rows) as f32; null when absent. A slice of a vector starts at row_begin.
  const float* Floats(const WeightRef& ref) {
    if (!ref) return nullptr;
    const GgufTensor& tensor = file_.tensors()[static_cast<std::size_t>(ref.tensor)];
    if (tensor.type == DType::kF32) {
      return reinterpret_cast<const float*>(data_[static_cast<std::size_t>(ref.tensor)]) +
             ref.row_begin;
    }
    if (!arena_) return nullptr;
    // The whole tensor is decoded where a slice could start within a block.
    std::vector<float> all(tensor.cols() * tensor.rows());
    DequantizeRow(tensor.type, file_.Data(tensor), all.data(),
                  static_cast<std::int64_t>(all.size()));
    const std::int64_t count = ref.rows * ref.cols;
    auto* copy = arena_->TakeArray<float>(count);
    if (!copy) {
      status_ = InternalError("memory row \"weights_expanded\": the plan is too small");
      return nullptr;
    }
    const Status moved = memory_->Upload(copy, all.data() + ref.row_begin,
                                         static_cast<std::uint64_t>(count) * sizeof(float));
    if (!moved.ok()) status_ = moved;
    return copy;
  }

  LinearWeights Linear(const LinearRef& ref) { return {View(ref.weight), Floats(ref.bias)}; }

  NormWeights Norm(const LinearRef& ref) {
    return {Floats(ref.weight), Floats(ref.bias), std::max<std::int64_t>(1, ref.weight.rows),
            static_cast<bool>(ref)};
  }

  ModelWeights All(const ModelSpec& spec) {
    ModelWeights w;
    w.embedding = View(spec.embedding);
    w.position_embedding = View(spec.position_embedding);
    w.output_norm = Norm(spec.output_norm);
    w.output = Linear(spec.output);
    for (const LayerSpec& layer : spec.layers) {
      LayerWeights out;
      out.attn_norm = Norm(layer.attn_norm);
      out.q_norm = Norm(layer.q_norm);
      out.k_norm = Norm(layer.k_norm);
      out.attn_post_norm = Norm(layer.attn_post_norm);
      out.ffn_norm = Norm(layer.ffn_norm);
      out.ffn_post_norm = Norm(layer.ffn_post_norm);
      out.q = Linear(layer.q);
      out.k = Linear(layer.k);
      out.v = Linear(layer.v);
      out.o = Linear(layer.o);
      out.gate = Linear(layer.gate);
      out.up = Linear(layer.up);
      out.down = Linear(layer.down);
      w.layers.push_back(out);
    }
    return w;
  }

  const Status& status() const { return status_; }

 private:
  void UseMapping() {
    for (const GgufTensor& tensor : file_.tensors()) data_.push_back(file_.Data(tensor));
  }

  const GgufFile& file_;
  Arena* arena_ = nullptr;
  DeviceMemory* memory_ = nullptr;
  std::vector<const std::byte*> data_;  // of each tensor, where kernels read it
  Status status_;
};

}  // namespace

ModelWeights ShapesOnly(const GgufFile& file, const ModelSpec& spec) {
  ModelWeights weights = WeightMaker(file).All(spec);
  for (const RopeSpec& rope : spec.ropes) {
    weights.ropes.push_back({std::vector<double>(static_cast<std::size_t>(rope.dims / 2)), 1.0});
  }
  return weights;
}

Result<ModelWeights> MakeWeights(const GgufFile& file, const ModelSpec& spec,
                                 const EnginePlan& plan, DeviceMemory& memory,
                                 const std::atomic<bool>* cancel) {
  VT_ASSIGN_OR_RETURN(Arena uploaded, RowArena(plan, "weights", memory));
  VT_ASSIGN_OR_RETURN(Arena expanded, RowArena(plan, "weights_expanded", memory));
  WeightMaker maker(file, &expanded, &memory);
  VT_RETURN_IF_ERROR(maker.Upload(plan, &uploaded, cancel));
  ModelWeights weights = maker.All(spec);
  VT_RETURN_IF_ERROR(maker.status());
  VT_RETURN_IF_ERROR(CheckUsedUp(uploaded, "weights"));
  VT_RETURN_IF_ERROR(CheckUsedUp(expanded, "weights_expanded"));
  for (const RopeSpec& rope : spec.ropes) {
    const WeightRef& factors = RopeFactors(rope, plan.options.context);
    std::vector<float> values;
    if (factors) {
      const GgufTensor& tensor = file.tensors()[static_cast<std::size_t>(factors.tensor)];
      values.resize(tensor.cols());
      DequantizeRow(tensor.type, file.Data(tensor), values.data(),
                    static_cast<std::int64_t>(values.size()));
    }
    weights.ropes.push_back(ComputeRope(rope, factors ? values.data() : nullptr));
  }
  weights.uploaded = std::move(uploaded);
  weights.expanded = std::move(expanded);
  return weights;
}

}  // namespace vt
