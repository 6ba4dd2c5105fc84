#include "engine/forward.h"

#include <cmath>

#include "engine/kv_cache.h"
#include "ops/matmul_policy.h"

namespace vt {
namespace {

Activation ToActivation(FfnActivation a) {
  return a == FfnActivation::kSilu ? Activation::kSilu : Activation::kGelu;
}

class Pass {
 public:
  Pass(const ForwardContext& context, std::int64_t rows, OpRunner& ops)
      : c_(context), spec_(context.spec), b_(context.buffers), rows_(rows), ops_(ops) {}

  Status Layers();
  Status Logits();

 private:
  // A matmul's input. It is quantised at most once, when the first weight that wants it comes.
  struct Operand {
    const float* x;
    std::int64_t cols;
    bool quantized = false;
  };

  Status Embed();
  Status RopeTables();
  Status Attention(int index, const LayerSpec& layer, const LayerWeights& w, Operand& input);
  Status FeedForward(int index, const LayerSpec& layer, const LayerWeights& w, Operand& input);
  Status Rotate(const LayerSpec& layer, float* x, std::int64_t heads);
  Status ScaleQueries(const LayerSpec& layer);
  Status Norm(const NormWeights& norm, NormKind kind, const float* x, float* out, std::int64_t rows,
              std::int64_t cols);
  Status QkNorm(const NormWeights& norm, float* x, std::int64_t heads, std::int64_t head_dim);
  Status Matmul(Operand& in, const LinearWeights& w, float* out, bool accumulate = false);
  // The end of a branch: down/o projection, its norm, its scale, added to the stream.
  Status AddBranch(int index, const char* place, Operand& in, const LinearWeights& w,
                   const NormWeights& post_norm);

  const ForwardContext& c_;
  const ModelSpec& spec_;
  StepBuffers& b_;
  std::int64_t rows_;
  OpRunner& ops_;
};

Status Pass::Norm(const NormWeights& norm, NormKind kind, const float* x, float* out,
                  std::int64_t rows, std::int64_t cols) {
  if (kind == NormKind::kRms) {
    return ops_.Run(RmsNormArgs{.x = x,
                                .weight = norm.weight,
                                .weight_rows = norm.rows,
                                .out = out,
                                .rows = rows,
                                .cols = cols,
                                .eps = spec_.norm_eps});
  }
  return ops_.Run(LayerNormArgs{.x = x,
                                .weight = norm.weight,
                                .bias = norm.bias,
                                .weight_rows = norm.rows,
                                .out = out,
                                .rows = rows,
                                .cols = cols,
                                .eps = spec_.norm_eps});
}

Status Pass::QkNorm(const NormWeights& norm, float* x, std::int64_t heads, std::int64_t head_dim) {
  if (!norm.present) return {};
  const bool whole = spec_.qk_norm_span == NormSpan::kRow;
  return Norm(norm, spec_.qk_norm, x, x, whole ? rows_ : rows_ * heads,
              whole ? heads * head_dim : head_dim);
}

Status Pass::Matmul(Operand& in, const LinearWeights& w, float* out, bool accumulate) {
  MatmulArgs args{
      .w = w.weight,
      .act = MatmulActType(w.weight.type, in.cols, c_.plan.options.exact, ops_.device_kind()),
      .x = in.x,
      .q = b_.quantized,
      .m = rows_,
      .bias = w.bias,
      .accumulate = accumulate,
      .out = out};
  if (args.act == ActType::kQ15 && !in.quantized) {
    VT_RETURN_IF_ERROR(
        ops_.Run(QuantizeArgs{.x = in.x, .out = b_.quantized, .rows = rows_, .cols = in.cols}));
    in.quantized = true;
  }
  return ops_.Run(args);
}

Status Pass::AddBranch(int index, const char* place, Operand& in, const LinearWeights& w,
                       const NormWeights& post_norm) {
  ops_.At(index, place);
  if (!post_norm.present && spec_.residual_scale == 1.0f) return Matmul(in, w, b_.stream, true);
  VT_RETURN_IF_ERROR(Matmul(in, w, b_.branch));
  if (post_norm.present && spec_.norm == NormKind::kRms && post_norm.rows == 1 &&
      spec_.residual_scale == 1.0f) {
    return ops_.Run(RmsNormAddArgs{.x = b_.branch,
                                   .weight = post_norm.weight,
                                   .residual = b_.stream,
                                   .out = b_.stream,
                                   .rows = rows_,
                                   .cols = spec_.width,
                                   .eps = spec_.norm_eps,
                                   .scratch = b_.branch});
  }
  if (post_norm.present) {
    VT_RETURN_IF_ERROR(Norm(post_norm, spec_.norm, b_.branch, b_.branch, rows_, spec_.width));
  }
  return ops_.Run(AddArgs{.a = b_.stream,
                          .b = b_.branch,
                          .out = b_.stream,
                          .count = rows_ * spec_.width,
                          .scale = spec_.residual_scale});
}

Status Pass::Embed() {
  ops_.At(-1, "token_embd");
  VT_RETURN_IF_ERROR(ops_.Run(EmbedArgs{.table = c_.weights.embedding,
                                        .ids = b_.ids,
                                        .rows = rows_,
                                        .scale = spec_.embedding_scale,
                                        .out = b_.stream}));
  if (!spec_.position_embedding) return {};
  ops_.At(-1, "position_embd");
  VT_RETURN_IF_ERROR(ops_.Run(EmbedArgs{.table = c_.weights.position_embedding,
                                        .ids = b_.positions,
                                        .rows = rows_,
                                        .out = b_.branch}));
  return ops_.Run(
      AddArgs{.a = b_.stream, .b = b_.branch, .out = b_.stream, .count = rows_ * spec_.width});
}

Status Pass::RopeTables() {
  ops_.At(-1, "rope");
  for (std::size_t i = 0; i < spec_.ropes.size(); ++i) {
    const RopeFrequencies& rope = c_.weights.ropes[i];
    VT_RETURN_IF_ERROR(ops_.Run(RopeTableArgs{.positions = b_.positions,
                                              .inv_freq = rope.inv_freq.data(),
                                              .rows = rows_,
                                              .pairs = spec_.ropes[i].dims / 2,
                                              .magnitude = rope.magnitude,
                                              .table = b_.rope_tables[i]}));
  }
  return {};
}

Status Pass::Rotate(const LayerSpec& layer, float* x, std::int64_t heads) {
  if (layer.rope < 0) return {};
  const RopeSpec& rope = spec_.ropes[static_cast<std::size_t>(layer.rope)];
  return ops_.Run(RopeArgs{
      .x = x,
      .table = b_.rope_tables[static_cast<std::size_t>(layer.rope)],
      .rows = rows_,
      .heads = heads,
      .head_dim = layer.key_dim,
      .pairs = rope.dims / 2,
      .layout = rope.pairing == RopePairing::kHalf ? RopeLayout::kHalf : RopeLayout::kInterleaved});
}

Status Pass::ScaleQueries(const LayerSpec& layer) {
  if (spec_.temperature_scale == 0.0) return {};
  const std::int64_t cols = layer.heads * layer.key_dim;
  for (std::int64_t r = 0; r < rows_; ++r) {
    const std::uint64_t position = ops_.dry() ? 0 : static_cast<std::uint64_t>(b_.positions[r]);
    const std::uint64_t whole_turns = position / spec_.temperature_length;
    const auto turns = static_cast<double>(whole_turns);
    const auto scale = static_cast<float>(1.0 + spec_.temperature_scale * std::log(1.0 + turns));
    if (scale == 1.0f && !ops_.dry()) continue;
    VT_RETURN_IF_ERROR(ops_.Run(ScaleCapArgs{.x = b_.q + r * cols, .count = cols, .scale = scale}));
  }
  return {};
}

Status Pass::Attention(int index, const LayerSpec& layer, const LayerWeights& w, Operand& input) {
  ops_.At(index, "attn_q");
  VT_RETURN_IF_ERROR(Matmul(input, w.q, b_.q));
  VT_RETURN_IF_ERROR(QkNorm(w.q_norm, b_.q, layer.heads, layer.key_dim));
  VT_RETURN_IF_ERROR(Rotate(layer, b_.q, layer.heads));
  VT_RETURN_IF_ERROR(ScaleQueries(layer));
  ops_.At(index, "attn_k");
  VT_RETURN_IF_ERROR(Matmul(input, w.k, b_.k));
  VT_RETURN_IF_ERROR(QkNorm(w.k_norm, b_.k, layer.kv_heads, layer.key_dim));
  VT_RETURN_IF_ERROR(Rotate(layer, b_.k, layer.kv_heads));
  ops_.At(index, "attn_v");
  VT_RETURN_IF_ERROR(Matmul(input, w.v, b_.v));

  const auto layer_index = static_cast<std::size_t>(index);
  const auto group = static_cast<std::size_t>(c_.plan.kv[layer_index].group);
  const auto cells = [&](bool keys) {
    if (c_.cache) return keys ? c_.cache->Keys(index) : c_.cache->Values(index);
    const KvLayerBytes& bytes = c_.plan.kv[layer_index];
    return KvCells{
        .type = c_.plan.options.kv_type,
        .cell_bytes = static_cast<std::int64_t>(keys ? bytes.key_cell : bytes.value_cell)};
  };
  const KvCells keys = cells(true);
  const KvCells values = cells(false);
  ops_.At(index, "kv");
  VT_RETURN_IF_ERROR(ops_.Run(KvStoreArgs{.x = b_.k,
                                          .slots = b_.slots[group],
                                          .rows = rows_,
                                          .cols = layer.kv_heads * layer.key_dim,
                                          .cells = keys}));
  VT_RETURN_IF_ERROR(ops_.Run(KvStoreArgs{.x = b_.v,
                                          .slots = b_.slots[group],
                                          .rows = rows_,
                                          .cols = layer.kv_heads * layer.value_dim,
                                          .cells = values}));
  ops_.At(index, "attn");
  return ops_.Run(AttentionArgs{.q = b_.q,
                                .k = keys,
                                .v = values,
                                .row = b_.attention_rows[group],
                                .rows = rows_,
                                .heads = layer.heads,
                                .kv_heads = layer.kv_heads,
                                .key_dim = layer.key_dim,
                                .value_dim = layer.value_dim,
                                .page_cells = kPageCells,
                                .scale = layer.attention_scale,
                                .softcap = layer.attention_softcap,
                                .scratch = b_.scratch,
                                .scratch_floats = c_.plan.sizes.scratch_floats,
                                .out = b_.attention});
}

Status Pass::FeedForward(int index, const LayerSpec& layer, const LayerWeights& w, Operand& input) {
  const bool gated = spec_.ffn == FfnKind::kGated;
  float* inner = gated ? b_.gate : b_.up;
  if (gated) {
    ops_.At(index, "ffn_gate");
    VT_RETURN_IF_ERROR(Matmul(input, w.gate, b_.gate));
  }
  ops_.At(index, "ffn_up");
  VT_RETURN_IF_ERROR(Matmul(input, w.up, b_.up));
  ops_.At(index, "ffn_act");
  const std::int64_t count = rows_ * layer.ffn_width;
  if (!gated) {
    return ops_.Run(ActivateArgs{
        .x = inner, .out = inner, .count = count, .act = ToActivation(spec_.activation)});
  }
  if (spec_.activation == FfnActivation::kSilu) {
    return ops_.Run(SiluMulArgs{.gate = inner, .up = b_.up, .out = inner, .count = count});
  }
  return ops_.Run(GeluMulArgs{.gate = inner, .up = b_.up, .out = inner, .count = count});
}

Status Pass::Layers() {
  VT_RETURN_IF_ERROR(Embed());
  VT_RETURN_IF_ERROR(RopeTables());
  for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
    const LayerSpec& layer = spec_.layers[i];
    const LayerWeights& w = c_.weights.layers[i];
    const int index = static_cast<int>(i);
    Operand input{b_.stream, spec_.width};
    if (w.attn_norm.present) {
      ops_.At(index, "attn_norm");
      VT_RETURN_IF_ERROR(Norm(w.attn_norm, spec_.norm, b_.stream, b_.normed, rows_, spec_.width));
      input.x = b_.normed;
    }
    VT_RETURN_IF_ERROR(Attention(index, layer, w, input));
    Operand attended{b_.attention, layer.heads * layer.value_dim};
    VT_RETURN_IF_ERROR(AddBranch(index, "attn_output", attended, w.o, w.attn_post_norm));

    Operand ffn_input{b_.stream, spec_.width};
    if (layer.parallel_residual) {
      ffn_input.x = b_.normed;
    } else if (w.ffn_norm.present) {
      ops_.At(index, "ffn_norm");
      VT_RETURN_IF_ERROR(Norm(w.ffn_norm, spec_.norm, b_.stream, b_.normed, rows_, spec_.width));
      ffn_input.x = b_.normed;
    }
    VT_RETURN_IF_ERROR(FeedForward(index, layer, w, ffn_input));
    Operand inner{spec_.ffn == FfnKind::kGated ? b_.gate : b_.up, layer.ffn_width};
    VT_RETURN_IF_ERROR(AddBranch(index, "ffn_down", inner, w.down, w.ffn_post_norm));
  }
  return {};
}

Status Pass::Logits() {
  ops_.At(-1, "output_rows");
  const Weight stream{
      .type = DType::kF32, .rows = c_.plan.sizes.tokens, .cols = spec_.width, .data = b_.stream};
  VT_RETURN_IF_ERROR(ops_.Run(
      EmbedArgs{.table = stream, .ids = b_.logit_ids, .rows = rows_, .out = b_.logit_rows}));
  ops_.At(-1, "output_norm");
  VT_RETURN_IF_ERROR(
      Norm(c_.weights.output_norm, spec_.norm, b_.logit_rows, b_.logit_rows, rows_, spec_.width));
  ops_.At(-1, "output");
  Operand input{b_.logit_rows, spec_.width};
  VT_RETURN_IF_ERROR(Matmul(input, c_.weights.output, b_.logits));
  if (spec_.logit_scale == 1.0f && spec_.logit_softcap == 0.0f) return {};
  return ops_.Run(ScaleCapArgs{.x = b_.logits,
                               .count = rows_ * spec_.vocab,
                               .scale = spec_.logit_scale,
                               .cap = spec_.logit_softcap});
}

}  // namespace

Status ForwardLayers(const ForwardContext& context, std::int64_t rows, OpRunner& ops) {
  return Pass(context, rows, ops).Layers();
}

Status ForwardLogits(const ForwardContext& context, std::int64_t rows, OpRunner& ops) {
  return Pass(context, rows, ops).Logits();
}

}  // namespace vt
