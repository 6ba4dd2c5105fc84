// One pass over the layers: each kind of mixer and feed-forward has a source of its own
// (forward_*.cpp), and all of them the parts below.
#pragma once

#include <cstdint>

#include "engine/forward.h"
#include "models/spec_weights.h"

namespace vt {

class Pass {
 public:
  Pass(const ForwardContext& context, std::int64_t rows, OpRunner& ops)
      : c_(context),
        spec_(context.spec),
        w_(context.weights),
        b_(context.buffers),
        rows_(rows),
        ops_(ops) {}

  Status Layers();
  Status Logits();

 private:
  // A matmul's input. It is quantised at most once, when the first weight that wants it comes, into
  // the one buffer there is: the next operand that is quantised ends it.
  struct Operand {
    const float* x = nullptr;
    std::int64_t cols = 0;
    std::int64_t rows = 0;
    bool quantized = false;
  };
  Operand Input(const float* x, std::int64_t cols) const { return {x, cols, rows_}; }

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
  Status ExpertProduct(int index, const char* place, const MoeSpec& moe, const ExpertRef& w,
                       Operand& in, std::int64_t repeat, const std::int32_t* ids, float* out);
  Status SharedInner(int index, const MoeSpec& moe, Operand& input);
  Status SharedOuter(int index, const MoeSpec& moe);

  // forward_ple.cpp: the embeddings that each layer has of its own.
  Status PerLayerEmbed();
  Status PerLayerBranch(int index, const LayerSpec& layer);

  const ForwardContext& c_;
  const ModelSpec& spec_;
  const ModelWeights& w_;
  StepBuffers& b_;
  std::int64_t rows_;
  OpRunner& ops_;
};

}  // namespace vt
