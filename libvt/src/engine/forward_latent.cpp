// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): one latent row per position stands
// for the keys and values of all heads.
//
// Queries go into the latent's space (absorbed), so that the cache holds kv_rank + rope_dim values
// a position and no values beside them; a model whose file has only the joint matrix of keys and
// values has them expanded in the cache. Positions may be selected by an indexer first.
#include <cmath>

#include "engine/forward_pass.h"

namespace vt {

Status Pass::LatentAttention(int index, const LayerSpec& layer, Operand& input) {
  const LatentSpec& latent = layer.latent;
  // All that reads the input first: what is quantised later takes its place.
  if (latent.q_rank > 0) {
    ops_->At(index, "attn_q_a");
    VT_RETURN_IF_ERROR(Matmul(input, latent.q_a, b_->q_latent));
    VT_RETURN_IF_ERROR(
        Norm(latent.q_a_norm, NormKind::kRms, b_->q_latent, b_->q_latent, rows_, latent.q_rank));
  }
  ops_->At(index, "attn_kv_a");
  VT_RETURN_IF_ERROR(Matmul(input, latent.kv_a, b_->kv_latent));
  const RopeSpec& rope = spec_.ropes[static_cast<std::size_t>(layer.rope)];
  VT_RETURN_IF_ERROR(ops_->Run(FusedNormRopeArgs{
      .x = b_->kv_latent,
      .weight = w_->Floats(latent.kv_a_norm.weight),
      .table = b_->rope_tables[static_cast<std::size_t>(layer.rope)],
      .rows = rows_,
      .latent = latent.kv_rank,
      .pairs = rope.dims / 2,
      .layout = rope.pairing == RopePairing::kHalf ? RopeLayout::kHalf : RopeLayout::kInterleaved,
      .eps = spec_.norm_eps}));
  if (latent.indexer.heads > 0 && latent.indexer.source == index) {
    VT_RETURN_IF_ERROR(SelectPositions(index, layer, input));
  }
  if (latent.indexer.heads > 0) VT_RETURN_IF_ERROR(CarrySelection(latent.indexer));
  VT_RETURN_IF_ERROR(LatentQueries(index, layer, input));
  return latent.kv_b ? Expanded(index, layer) : Absorbed(index, layer);
}

Status Pass::LatentQueries(int index, const LayerSpec& layer, Operand& input) {
  const LatentSpec& latent = layer.latent;
  ops_->At(index, "attn_q_b");
  Operand compressed = Input(b_->q_latent, latent.q_rank);
  VT_RETURN_IF_ERROR(Matmul(latent.q_rank > 0 ? compressed : input, latent.q_b, b_->q));
  VT_RETURN_IF_ERROR(
      Rotate(layer.rope, b_->q + latent.nope_dim, layer.heads, latent.nope_dim + latent.rope_dim));
  return ScaleQueries(layer, b_->q);
}

Status Pass::SelectPositions(int index, const LayerSpec& layer, Operand& input) {
  const IndexerSpec& indexer = layer.latent.indexer;
  ops_->At(index, "indexer_k");
  VT_RETURN_IF_ERROR(Matmul(input, indexer.k, b_->index_k));
  const NormWeights norm = w_->Norm(indexer.k_norm);
  VT_RETURN_IF_ERROR(ops_->Run(LayerNormArgs{.x = b_->index_k,
                                             .weight = norm.weight,
                                             .bias = norm.bias,
                                             .out = b_->index_k,
                                             .rows = rows_,
                                             .cols = indexer.dim,
                                             .eps = indexer.eps}));
  VT_RETURN_IF_ERROR(Rotate(indexer.rope, b_->index_k, 1, indexer.dim));
  VT_RETURN_IF_ERROR(ops_->Run(KvStoreArgs{.x = b_->index_k,
                                           .slots = b_->slots[GroupOf(index)],
                                           .rows = rows_,
                                           .cols = indexer.dim,
                                           .cells = CellsOf(index, Cells::kIndex)}));
  ops_->At(index, "indexer_proj");
  VT_RETURN_IF_ERROR(Matmul(input, indexer.weights, b_->index_weights));
  VT_RETURN_IF_ERROR(ops_->Run(
      ScaleCapArgs{.x = b_->index_weights,
                   .count = rows_ * indexer.heads,
                   .scale = 1.0f / std::sqrt(static_cast<float>(indexer.heads * indexer.dim))}));
  ops_->At(index, "indexer_q");
  Operand compressed = Input(b_->q_latent, layer.latent.q_rank);
  VT_RETURN_IF_ERROR(Matmul(compressed, indexer.q, b_->index_q));
  VT_RETURN_IF_ERROR(Rotate(indexer.rope, b_->index_q, indexer.heads, indexer.dim));
  selection_ = at_;
  return ops_->Run(IndexSelectArgs{.q = b_->index_q,
                                   .weights = b_->index_weights,
                                   .k = CellsOf(index, Cells::kIndex),
                                   .row = b_->attention_rows[GroupOf(index)],
                                   .rows = rows_,
                                   .heads = indexer.heads,
                                   .dim = indexer.dim,
                                   .page_cells = kPageCells,
                                   .top = indexer.top,
                                   .scratch = b_->scratch,
                                   .scratch_floats = Sizes().scratch_floats,
                                   .selected = b_->selected,
                                   .sparse = b_->sparse_rows});
}

// Each head of x times its own matrix; strides are from head to head.
Status Pass::HeadProduct(const WeightRef& w, std::int64_t heads, const float* x,
                         std::int64_t x_stride, float* out, std::int64_t out_stride) {
  const auto product = [&](const float* in, float* to) {
    return ops_->Run(HeadMatmulArgs{.w = w_->Matrix(w),
                                    .heads = heads,
                                    .x = in,
                                    .x_stride = x_stride,
                                    .rows = rows_,
                                    .out = to,
                                    .out_stride = out_stride});
  };
  const int side = SideOf(w);
  if (side == at_) return product(x, out);
  return Away(side, Input(x, heads * x_stride), out, rows_ * heads * out_stride, false,
              [&](const Operand& there, float* to) { return product(there.x, to); });
}

Status Pass::Absorbed(int index, const LayerSpec& layer) {
  const LatentSpec& latent = layer.latent;
  const std::int64_t head = latent.nope_dim + latent.rope_dim;
  const std::int64_t cell = latent.kv_rank + latent.rope_dim;
  ops_->At(index, "attn_k_b");
  VT_RETURN_IF_ERROR(HeadProduct(latent.k_b, layer.heads, b_->q, head, b_->q_absorbed, cell));
  VT_RETURN_IF_ERROR(CopyColumns(b_->q + latent.nope_dim, head, b_->q_absorbed + latent.kv_rank,
                                 cell, rows_ * layer.heads, latent.rope_dim));
  VT_RETURN_IF_ERROR(StoreCells(index, b_->kv_latent, cell, nullptr, 0));
  const bool sparse = latent.indexer.heads > 0;
  ops_->At(index, "attn");
  const KvCells cells = CellsOf(index, Cells::kKeys);
  VT_RETURN_IF_ERROR(
      ops_->Run(AttentionArgs{.q = b_->q_absorbed,
                              .k = cells,
                              .v = cells,
                              .row = sparse ? b_->sparse_rows : b_->attention_rows[GroupOf(index)],
                              .rows = rows_,
                              .heads = layer.heads,
                              .kv_heads = 1,
                              .key_dim = cell,
                              .value_dim = latent.kv_rank,
                              .page_cells = sparse ? 1 : kPageCells,
                              .scale = layer.attention_scale,
                              .scratch = b_->scratch,
                              .scratch_floats = Sizes().scratch_floats,
                              .out = b_->latent_out}));
  ops_->At(index, "attn_v_b");
  return HeadProduct(latent.v_b, layer.heads, b_->latent_out, latent.kv_rank, b_->attention,
                     layer.value_dim);
}

Status Pass::Expanded(int index, const LayerSpec& layer) {
  const LatentSpec& latent = layer.latent;
  const std::int64_t head = latent.nope_dim + latent.rope_dim;
  const std::int64_t cell = latent.kv_rank + latent.rope_dim;
  const std::int64_t both = latent.nope_dim + layer.value_dim;
  const std::int64_t all = rows_ * layer.heads;
  ops_->At(index, "attn_kv_b");
  VT_RETURN_IF_ERROR(
      CopyColumns(b_->kv_latent, cell, b_->latent_out, latent.kv_rank, rows_, latent.kv_rank));
  Operand compressed = Input(b_->latent_out, latent.kv_rank);
  VT_RETURN_IF_ERROR(Matmul(compressed, latent.kv_b, b_->kv_expanded));
  VT_RETURN_IF_ERROR(CopyColumns(b_->kv_expanded, both, b_->k, head, all, latent.nope_dim));
  for (std::int64_t h = 0; h < layer.heads; ++h) {
    VT_RETURN_IF_ERROR(CopyColumns(b_->kv_latent + latent.kv_rank, cell,
                                   b_->k + h * head + latent.nope_dim, layer.heads * head, rows_,
                                   latent.rope_dim));
  }
  VT_RETURN_IF_ERROR(CopyColumns(b_->kv_expanded + latent.nope_dim, both, b_->v, layer.value_dim,
                                 all, layer.value_dim));
  VT_RETURN_IF_ERROR(
      StoreCells(index, b_->k, layer.heads * head, b_->v, layer.heads * layer.value_dim));
  ops_->At(index, "attn");
  return ops_->Run(AttentionArgs{.q = b_->q,
                                 .k = CellsOf(index, Cells::kKeys),
                                 .v = CellsOf(index, Cells::kValues),
                                 .row = b_->attention_rows[GroupOf(index)],
                                 .rows = rows_,
                                 .heads = layer.heads,
                                 .kv_heads = layer.heads,
                                 .key_dim = head,
                                 .value_dim = layer.value_dim,
                                 .page_cells = kPageCells,
                                 .scale = layer.attention_scale,
                                 .scratch = b_->scratch,
                                 .scratch_floats = Sizes().scratch_floats,
                                 .out = b_->attention});
}

}  // namespace vt
