#include "engine/weights.h"

#include "cpu/quants/dequantize.h"

namespace vt {
namespace {

class WeightMaker {
 public:
  // arena null: shapes only.
  WeightMaker(const GgufFile& file, Arena* arena) : file_(file), arena_(arena) {}

  Weight View(const WeightRef& ref) const {
    Weight weight;
    if (!ref) return weight;
    const GgufTensor& tensor = file_.tensors()[static_cast<std::size_t>(ref.tensor)];
    weight.type = tensor.type;
    weight.rows = ref.rows;
    weight.cols = ref.cols;
    weight.data = file_.Data(tensor) +
                  RowBytes(tensor.type, tensor.cols()) * static_cast<std::uint64_t>(ref.row_begin);
    return weight;
  }

  // A vector (or a few rows) as f32; null when absent. A slice of a vector starts at row_begin.
  const float* Floats(const WeightRef& ref) {
    if (!ref) return nullptr;
    const GgufTensor& tensor = file_.tensors()[static_cast<std::size_t>(ref.tensor)];
    const std::byte* data = file_.Data(tensor);
    if (tensor.type == DType::kF32) return reinterpret_cast<const float*>(data) + ref.row_begin;
    if (!arena_) return nullptr;
    // The whole tensor is decoded where a slice could start within a block.
    std::vector<float> all(tensor.cols() * tensor.rows());
    DequantizeRow(tensor.type, data, all.data(), static_cast<std::int64_t>(all.size()));
    const std::int64_t count = ref.rows * ref.cols;
    auto* copy = arena_->TakeArray<float>(count);
    if (!copy) {
      short_ = true;
      return nullptr;
    }
    std::copy_n(all.data() + ref.row_begin, count, copy);
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

  bool ran_short() const { return short_; }

 private:
  const GgufFile& file_;
  Arena* arena_;
  bool short_ = false;
};

}  // namespace

ModelWeights ShapesOnly(const GgufFile& file, const ModelSpec& spec) {
  ModelWeights weights = WeightMaker(file, nullptr).All(spec);
  for (const RopeSpec& rope : spec.ropes) {
    weights.ropes.push_back({std::vector<double>(static_cast<std::size_t>(rope.dims / 2)), 1.0});
  }
  return weights;
}

Result<ModelWeights> MakeWeights(const GgufFile& file, const ModelSpec& spec,
                                 const EnginePlan& plan) {
  Result<Arena> arena = Arena::Create(plan.RowBytes("weights_expanded"));
  if (!arena.ok()) return arena.status().Annotate("memory row \"weights_expanded\"");
  WeightMaker maker(file, &*arena);
  ModelWeights weights = maker.All(spec);
  if (maker.ran_short() || arena->taken() != arena->capacity()) {
    return InternalError("memory row \"weights_expanded\": the plan has " +
                         std::to_string(arena->capacity()) + " bytes, " +
                         std::to_string(arena->taken()) + " were taken");
  }
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
  weights.expanded = std::move(*arena);
  return weights;
}

}  // namespace vt
