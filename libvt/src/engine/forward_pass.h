// One pass over the layers: each kind of mixer and feed-forward has a source of its own
// (forward_*.cpp), and all of them the parts below.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/forward.h"
#include "models/spec_weights.h"

namespace vt {

class Pass {
 public:
  Pass(const ForwardContext& context, std::int64_t rows);

  Status Layers();
  Status Logits();

 private:
  // A matmul's input on one side. It is quantised at most once, when the first weight that wants it
  // comes, into the one buffer that the side has: the next operand that is quantised there ends it.
  struct Operand {
    const float* x = nullptr;
    std::int64_t cols = 0;
    std::int64_t rows = 0;
    std::uint64_t id = 0;  // no two operands have the same
  };
  Operand Input(const float* x, std::int64_t cols) { return Input(x, cols, rows_); }
  Operand Input(const float* x, std::int64_t cols, std::int64_t rows) {
    return {x, cols, rows, ++operands_};
  }

  // forward_sides.cpp: from device to device.
  const LayerPlacement& PlaceOf(int index) const {
    return c_.plan.placement.layers[static_cast<std::size_t>(index)];
  }
  int SideOf(const WeightRef& ref) const {
    return c_.plan.placement.tensors[static_cast<std::size_t>(ref.tensor)];
  }
  void Enter(int side);  // what follows runs there
  // Takes the stream along.
  Status EnterWithStream(int side);
  // Copies `count` values of a step buffer of this side to the same buffer of another.
  template <class T>
  Status Carry(const T* values, std::int64_t count, int to) {
    return CarryBytes(values, static_cast<std::uint64_t>(count) * sizeof(T), to);
  }
  Status CarryBytes(const void* value, std::uint64_t bytes, int to);
  Status Copy(const void* from, int from_side, void* to, int to_side, std::uint64_t bytes);
  // The same place in the buffers of another side.
  template <class T>
  T* Twin(T* value, int side) const {
    return static_cast<T*>(const_cast<void*>(TwinOf(value, side)));
  }
  const void* TwinOf(const void* value, int side) const;
  // Runs product(input there, output there) on another side, whose result comes back.
  template <class Product>
  Status Away(int side, const Operand& in, float* out, std::int64_t out_count, bool accumulate,
              Product product) {
    const int home = at_;
    VT_RETURN_IF_ERROR(Carry(in.x, in.rows * in.cols, side));
    if (accumulate) VT_RETURN_IF_ERROR(Carry(out, out_count, side));
    Operand there = Input(Twin(in.x, side), in.cols, in.rows);
    float* out_there = Twin(out, side);
    Enter(side);
    VT_RETURN_IF_ERROR(product(there, out_there));
    VT_RETURN_IF_ERROR(Carry(out_there, out_count, home));
    Enter(home);
    return {};
  }
  // The positions that the layer's indexer, or an earlier one's, chose.
  Status CarrySelection(const IndexerSpec& indexer);

  // forward.cpp: what all parts are made of.
  Status Embed();
  Status RopeTables();
  Status Layer(int index, const LayerSpec& layer);
  Status Norm(const LinearRef& norm, NormKind kind, const float* x, float* out, std::int64_t rows,
              std::int64_t cols);
  // RMS norm with the model's eps; `weight` may be null.
  Status RmsNorm(const float* weight, const float* x, float* out, std::int64_t rows,
                 std::int64_t cols);
  Status Quantize(Operand& in);
  Status Matmul(Operand& in, const LinearRef& w, float* out, bool accumulate = false);
  Status EmbedRows(const WeightRef& table, const std::int32_t* ids, float scale, float* out);
  // The end of a branch: its last projection, its norm, its scale, added to the stream.
  Status AddBranch(int index, const char* place, Operand& in, const LinearRef& w,
                   const LinearRef& post_norm);
  // The same of a branch that is in `x` already, which is overwritten.
  Status AddResult(float* x, const LinearRef& post_norm);
  Status CopyColumns(const float* x, std::int64_t x_stride, float* out, std::int64_t out_stride,
                     std::int64_t rows, std::int64_t cols);

  // forward_attention.cpp
  Status Attention(int index, const LayerSpec& layer, Operand& input);
  Status Queries(int index, const LayerSpec& layer, Operand& input, float** q);
  Status KeysAndValues(int index, const LayerSpec& layer, Operand& input);
  Status StoreCells(int index, const float* keys, std::int64_t key_cols, const float* values,
                    std::int64_t value_cols);
  Status NormAndRotate(const LayerSpec& layer, const LinearRef& norm, float* x, std::int64_t heads);
  Status QkNorm(const LayerSpec& layer, const LinearRef& norm, float* x, std::int64_t heads);
  // Rotates `heads` heads of head_dim values each, rows `stride` floats apart (0: none between).
  Status Rotate(int rope, float* x, std::int64_t heads, std::int64_t head_dim,
                std::int64_t stride = 0);
  Status ScaleQueries(const LayerSpec& layer, float* q);
  enum class Cells { kKeys, kValues, kIndex };
  // The cells of the layer itself, which must cache.
  KvCells CellsOf(int index, Cells which) const;
  std::size_t GroupOf(int index) const;

  // forward_latent.cpp
  Status LatentAttention(int index, const LayerSpec& layer, Operand& input);
  Status LatentQueries(int index, const LayerSpec& layer, Operand& input);
  Status Expanded(int index, const LayerSpec& layer);
  Status Absorbed(int index, const LayerSpec& layer);
  Status HeadProduct(const WeightRef& w, std::int64_t heads, const float* x, std::int64_t x_stride,
                     float* out, std::int64_t out_stride);
  Status SelectPositions(int index, const LayerSpec& layer, Operand& input);

  // forward_recurrent.cpp. Each leaves its result, before the output projection, in
  // b_.recurrent_out, [rows, layer.recurrent.out.weight.cols].
  Status Recurrent(int index, const LayerSpec& layer, Operand& input);
  Status Mamba2(int index, const LayerSpec& layer, Operand& input);
  Status DeltaNet(int index, const LayerSpec& layer, Operand& input);
  Status ShortConv(int index, const LayerSpec& layer, Operand& input);
  Status Convolve(int index, const LayerSpec& layer, const float* x, std::int64_t x_stride);
  Status DeltaGates(int index, const LayerSpec& layer, Operand& input, const float** alpha,
                    const float** beta);

  // forward_ffn.cpp
  Status FeedForward(int index, const LayerSpec& layer);
  Status Dense(int index, const LayerSpec& layer, Operand& input);
  Status GatedActivation(FfnKind kind, FfnActivation act, float* gate, float* up,
                         std::int64_t count);

  // forward_moe.cpp
  Status RouterLogits(int index, const LayerSpec& layer, Operand& input);
  Status Route(int index, const MoeSpec& moe, const float** weights);
  // The experts' weighted sum for rows of `input`, and the shared expert's part, into b_.moe.
  Status Experts(int index, const LayerSpec& layer, Operand& input);
  // The expert of each row of a product.
  struct Choice {
    const std::int32_t* ids = nullptr;
    std::int64_t repeat = 1;   // rows in turn that share one of the input
    std::int64_t experts = 0;  // that the matrix at hand has: the layer's, or as many as slots
  };
  Status ExpertProduct(int index, const char* place, const MoeSpec& moe, const ExpertRef& w,
                       Operand& in, const Choice& choice, float* out);
  // What the experts make of pairs from `begin` on, into pair_out: one for each id of the choice.
  Status ExpertPairs(int index, const MoeSpec& moe, Operand& in, const Choice& choice,
                     std::int64_t begin = 0);
  // The routed experts of a layer where they are placed, into moe of this side.
  Status RoutedExperts(int index, const MoeSpec& moe, const Operand& input, const float* weights);

  // forward_slots.cpp: experts that take turns in the slots of their device. The pairs are sorted,
  // their inputs in pair_in.
  Status PairsInSlots(int index, const MoeSpec& moe, std::int64_t pairs);
  Status PairsInSlotsDry(int index, const MoeSpec& moe, std::int64_t pairs);
  struct ExpertRun {  // sorted pairs of one expert
    std::int32_t expert = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Status Wave(int index, const MoeSpec& moe, std::span<const ExpertRun> runs,
              std::vector<std::int32_t>& ids);
  Status SharedInner(int index, const MoeSpec& moe, Operand& input);
  Status SharedOuter(int index, const MoeSpec& moe);

  // forward_ple.cpp: the embeddings that each layer has of its own.
  Status PerLayerEmbed();
  Status PerLayerBranch(int index, const LayerSpec& layer);

  const StepSizes& Sizes() const { return c_.plan.devices[static_cast<std::size_t>(at_)].sizes; }

  const ForwardContext& c_;
  const ModelSpec& spec_;
  std::int64_t rows_;
  std::uint64_t operands_ = 0;
  std::vector<std::uint64_t> quantized_;  // by side: the operand in its buffer
  int at_ = 0;                            // the side that runs what comes
  int selection_ = -1;                    // the side where positions were chosen last
  const ModelWeights* w_ = nullptr;       // of this side
  StepBuffers* b_ = nullptr;
  OpRunner* ops_ = nullptr;
};

}  // namespace vt
