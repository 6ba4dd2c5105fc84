#include "engine/forward.h"

#include "engine/forward_pass.h"
#include "ops/matmul_policy.h"

namespace vt {

Status Pass::RmsNorm(const float* weight, const float* x, float* out, std::int64_t rows,
                     std::int64_t cols) {
  return ops_->Run(RmsNormArgs{
      .x = x, .weight = weight, .out = out, .rows = rows, .cols = cols, .eps = spec_.norm_eps});
}

Status Pass::Norm(const LinearRef& norm, NormKind kind, const float* x, float* out,
                  std::int64_t rows, std::int64_t cols) {
  const NormWeights w = w_->Norm(norm);
  if (kind == NormKind::kRms) {
    return ops_->Run(RmsNormArgs{.x = x,
                                 .weight = w.weight,
                                 .bias = w.bias,
                                 .weight_rows = w.rows,
                                 .out = out,
                                 .rows = rows,
                                 .cols = cols,
                                 .eps = spec_.norm_eps});
  }
  return ops_->Run(LayerNormArgs{.x = x,
                                 .weight = w.weight,
                                 .bias = w.bias,
                                 .weight_rows = w.rows,
                                 .out = out,
                                 .rows = rows,
                                 .cols = cols,
                                 .eps = spec_.norm_eps});
}

Status Pass::Quantize(Operand& in) {
  std::uint64_t& held = quantized_[static_cast<std::size_t>(at_)];
  if (held == in.id) return {};
  held = in.id;
  return ops_->Run(QuantizeArgs{.x = in.x, .out = b_->quantized, .rows = in.rows, .cols = in.cols});
}

Status Pass::Matmul(Operand& in, const LinearRef& w, float* out, bool accumulate) {
  if (const int side = SideOf(w.weight); side != at_) {
    return Away(
        side, in, out, in.rows * w.weight.rows, accumulate,
        [&](Operand& there, float* result) { return Matmul(there, w, result, accumulate); });
  }
  const Weight weight = w_->Matrix(w.weight);
  if (weight.type == DType::kF8_E4M3) {
    return ops_->Run(MatmulFp8Args{.w = weight,
                                   .x = in.x,
                                   .m = in.rows,
                                   .bias = w_->Floats(w.bias),
                                   .accumulate = accumulate,
                                   .out = out});
  }
  const MatmulArgs args{
      .w = weight,
      .act = MatmulActType(weight.type, in.cols, c_.plan.options.exact, ops_->device_kind()),
      .x = in.x,
      .q = b_->quantized,
      .m = in.rows,
      .bias = w_->Floats(w.bias),
      .accumulate = accumulate,
      .out = out};
  if (args.act == ActType::kQ15) VT_RETURN_IF_ERROR(Quantize(in));
  return ops_->Run(args);
}

Status Pass::CopyColumns(const float* x, std::int64_t x_stride, float* out, std::int64_t out_stride,
                         std::int64_t rows, std::int64_t cols) {
  if (cols == 0) return {};
  return ops_->Run(CopyColumnsArgs{.x = x,
                                   .x_stride = x_stride,
                                   .rows = rows,
                                   .cols = cols,
                                   .out = out,
                                   .out_stride = out_stride});
}

Status Pass::AddBranch(int index, const char* place, Operand& in, const LinearRef& w,
                       const LinearRef& post_norm) {
  ops_->At(index, place);
  if (!post_norm && spec_.residual_scale == 1.0f) return Matmul(in, w, b_->stream, true);
  VT_RETURN_IF_ERROR(Matmul(in, w, b_->branch));
  return AddResult(b_->branch, post_norm);
}

Status Pass::AddResult(float* x, const LinearRef& post_norm) {
  if (post_norm && spec_.norm == NormKind::kRms && post_norm.weight.rows == 1 && !post_norm.bias &&
      spec_.residual_scale == 1.0f) {
    return ops_->Run(RmsNormAddArgs{.x = x,
                                    .weight = w_->Floats(post_norm.weight),
                                    .residual = b_->stream,
                                    .out = b_->stream,
                                    .rows = rows_,
                                    .cols = spec_.width,
                                    .eps = spec_.norm_eps,
                                    .scratch = x});
  }
  if (post_norm) VT_RETURN_IF_ERROR(Norm(post_norm, spec_.norm, x, x, rows_, spec_.width));
  return ops_->Run(AddArgs{.a = b_->stream,
                           .b = x,
                           .out = b_->stream,
                           .count = rows_ * spec_.width,
                           .scale = spec_.residual_scale});
}

Status Pass::EmbedRows(const WeightRef& table, const std::int32_t* ids, float scale, float* out) {
  const int home = at_;
  const int side = SideOf(table);
  const std::int32_t* ids_there = side == home ? ids : Twin(ids, side);
  float* out_there = side == home ? out : Twin(out, side);
  Enter(side);
  VT_RETURN_IF_ERROR(ops_->Run(EmbedArgs{.table = w_->Matrix(table),
                                         .ids = ids_there,
                                         .rows = rows_,
                                         .scale = scale,
                                         .out = out_there}));
  VT_RETURN_IF_ERROR(Carry(out_there, rows_ * table.cols, home));
  Enter(home);
  return {};
}

Status Pass::Embed() {
  ops_->At(-1, "token_embd");
  VT_RETURN_IF_ERROR(EmbedRows(spec_.embedding, b_->ids, spec_.embedding_scale, b_->stream));
  if (spec_.position_embedding) {
    ops_->At(-1, "position_embd");
    VT_RETURN_IF_ERROR(EmbedRows(spec_.position_embedding, b_->positions, 1.0f, b_->branch));
    VT_RETURN_IF_ERROR(ops_->Run(AddArgs{
        .a = b_->stream, .b = b_->branch, .out = b_->stream, .count = rows_ * spec_.width}));
  }
  if (spec_.embedding_norm) {
    ops_->At(-1, "token_embd_norm");
    VT_RETURN_IF_ERROR(
        Norm(spec_.embedding_norm, spec_.norm, b_->stream, b_->stream, rows_, spec_.width));
  }
  return spec_.ple_width > 0 ? PerLayerEmbed() : Status();
}

Status Pass::RopeTables() {
  const int home = at_;
  for (std::size_t side = 0; side < c_.sides.size(); ++side) {
    if (c_.plan.devices[side].sizes.rope_values == 0) continue;
    Enter(static_cast<int>(side));
    ops_->At(-1, "rope");
    for (std::size_t i = 0; i < spec_.ropes.size(); ++i) {
      const RopeFrequencies& rope = w_->rope(i);
      VT_RETURN_IF_ERROR(ops_->Run(RopeTableArgs{.positions = b_->positions,
                                                 .inv_freq = rope.inv_freq.data(),
                                                 .rows = rows_,
                                                 .pairs = spec_.ropes[i].dims / 2,
                                                 .magnitude = rope.magnitude,
                                                 .table = b_->rope_tables[i]}));
    }
  }
  Enter(home);
  return {};
}

Status Pass::Layer(int index, const LayerSpec& layer) {
  if (layer.moe.experts > 0 && layer.moe.router_input == RouterInput::kLayer) {
    VT_RETURN_IF_ERROR(EnterWithStream(PlaceOf(index).ffn));
    Operand entered = Input(b_->stream, spec_.width);
    VT_RETURN_IF_ERROR(RouterLogits(index, layer, entered));
  }
  if (layer.has_mixer()) {
    VT_RETURN_IF_ERROR(EnterWithStream(PlaceOf(index).mixer));
    Operand input = Input(b_->stream, spec_.width);
    if (layer.attn_norm) {
      ops_->At(index, "attn_norm");
      VT_RETURN_IF_ERROR(
          Norm(layer.attn_norm, spec_.norm, b_->stream, b_->normed, rows_, spec_.width));
      input.x = b_->normed;
    }
    if (layer.recurs()) {
      VT_RETURN_IF_ERROR(Recurrent(index, layer, input));
      Operand mixed = Input(b_->recurrent_out, layer.recurrent.out.weight.cols);
      VT_RETURN_IF_ERROR(
          AddBranch(index, "ssm_out", mixed, layer.recurrent.out, layer.attn_post_norm));
    } else {
      VT_RETURN_IF_ERROR(layer.mixer == MixerKind::kLatent ? LatentAttention(index, layer, input)
                                                           : Attention(index, layer, input));
      Operand attended = Input(b_->attention, layer.heads * layer.value_dim);
      VT_RETURN_IF_ERROR(AddBranch(index, "attn_output", attended, layer.o, layer.attn_post_norm));
    }
  }
  const int ffn = PlaceOf(index).ffn;
  if (layer.parallel_residual && ffn != at_) {
    VT_RETURN_IF_ERROR(Carry(b_->normed, rows_ * spec_.width, ffn));
  }
  VT_RETURN_IF_ERROR(EnterWithStream(ffn));
  VT_RETURN_IF_ERROR(FeedForward(index, layer));
  if (layer.ple_gate) VT_RETURN_IF_ERROR(PerLayerBranch(index, layer));
  if (!layer.output_scale) return {};
  ops_->At(index, "layer_output_scale");
  return ops_->Run(MulArgs{.a = b_->stream,
                           .b = w_->Floats(layer.output_scale),
                           .out = b_->stream,
                           .rows = 1,
                           .cols = rows_ * spec_.width,
                           .b_cols = 1});
}

Status Pass::Layers() {
  VT_RETURN_IF_ERROR(Embed());
  VT_RETURN_IF_ERROR(RopeTables());
  for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
    const int index = static_cast<int>(i);
    VT_RETURN_IF_ERROR(Layer(index, spec_.layers[i]));
    VT_RETURN_IF_ERROR(ops_->EndLayer(index, b_->stream, rows_, spec_.width));
  }
  return EnterWithStream(c_.plan.placement.output);
}

Status Pass::Logits() {
  Enter(c_.plan.placement.output);
  ops_->At(-1, "output_rows");
  const Weight stream{
      .type = DType::kF32, .rows = Sizes().tokens, .cols = spec_.width, .data = b_->stream};
  VT_RETURN_IF_ERROR(ops_->Run(
      EmbedArgs{.table = stream, .ids = b_->logit_ids, .rows = rows_, .out = b_->logit_rows}));
  ops_->At(-1, "output_norm");
  VT_RETURN_IF_ERROR(
      Norm(spec_.output_norm, spec_.norm, b_->logit_rows, b_->logit_rows, rows_, spec_.width));
  ops_->At(-1, "output");
  // What comes after the product runs where its result is: logits go to the host from there.
  const int side = SideOf(spec_.output.weight);
  if (side != at_) {
    VT_RETURN_IF_ERROR(Carry(b_->logit_rows, rows_ * spec_.width, side));
    Enter(side);
  }
  Operand input = Input(b_->logit_rows, spec_.width);
  VT_RETURN_IF_ERROR(Matmul(input, spec_.output, b_->logits));
  if (spec_.logit_scale == 1.0f && spec_.logit_softcap == 0.0f) return {};
  return ops_->Run(ScaleCapArgs{.x = b_->logits,
                                .count = rows_ * spec_.vocab,
                                .scale = spec_.logit_scale,
                                .cap = spec_.logit_softcap});
}

Status ForwardLayers(const ForwardContext& context, std::int64_t rows) {
  return Pass(context, rows).Layers();
}

Status ForwardLogits(const ForwardContext& context, std::int64_t rows) {
  return Pass(context, rows).Logits();
}

}  // namespace vt
