// Embeddings that each layer has of its own (Gemma 4): a row of values per layer is looked up for
// every token, mixed with a projection of the token's embedding, and gates a branch of its layer.
#include <cmath>

#include "engine/forward_pass.h"

namespace vt {

Status Pass::PerLayerEmbed() {
  const auto layers = static_cast<std::int64_t>(spec_.layers.size());
  const std::int64_t cols = layers * spec_.ple_width;
  ops_->At(-1, "per_layer_token_embd");
  VT_RETURN_IF_ERROR(EmbedRows(spec_.ple_table, b_->ids,
                               std::sqrt(static_cast<float>(spec_.ple_width)), b_->ple_rows));
  ops_->At(-1, "per_layer_model_proj");
  Operand embedded = Input(b_->stream, spec_.width);
  VT_RETURN_IF_ERROR(Matmul(embedded, spec_.ple_model_proj, b_->ple));
  VT_RETURN_IF_ERROR(
      ops_->Run(ScaleCapArgs{.x = b_->ple,
                             .count = rows_ * cols,
                             .scale = 1.0f / std::sqrt(static_cast<float>(spec_.width))}));
  ops_->At(-1, "per_layer_proj_norm");
  VT_RETURN_IF_ERROR(RmsNorm(w_->Floats(spec_.ple_model_norm.weight), b_->ple, b_->ple,
                             rows_ * layers, spec_.ple_width));
  VT_RETURN_IF_ERROR(
      ops_->Run(AddArgs{.a = b_->ple, .b = b_->ple_rows, .out = b_->ple, .count = rows_ * cols}));
  return ops_->Run(
      ScaleCapArgs{.x = b_->ple, .count = rows_ * cols, .scale = 1.0f / std::sqrt(2.0f)});
}

Status Pass::PerLayerBranch(int index, const LayerSpec& layer) {
  const std::int64_t inner = spec_.ple_width;
  const std::int64_t all = inner * static_cast<std::int64_t>(spec_.layers.size());
  // The layer's columns are cut out where all of them are.
  const int home = at_;
  ops_->At(index, "inp_gate");
  Enter(c_.plan.placement.input);
  float* cut = b_->ple_inner + rows_ * inner;
  VT_RETURN_IF_ERROR(CopyColumns(b_->ple + index * inner, all, cut, inner, rows_, inner));
  VT_RETURN_IF_ERROR(Carry(cut, rows_ * inner, home));
  Enter(home);
  float* gate = b_->ple_inner;
  float* own = b_->ple_inner + rows_ * inner;
  Operand input = Input(b_->stream, spec_.width);
  VT_RETURN_IF_ERROR(Matmul(input, layer.ple_gate, gate));
  VT_RETURN_IF_ERROR(
      ops_->Run(GeluMulArgs{.gate = gate, .up = own, .out = gate, .count = rows_ * inner}));
  Operand gated = Input(gate, inner);
  return AddBranch(index, "inp_proj", gated, layer.ple_proj, layer.ple_norm);
}

}  // namespace vt
