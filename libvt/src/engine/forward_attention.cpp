// Attention with keys and values of its own, or with those of an earlier layer.
#include <cmath>

#include "engine/forward_pass.h"
#include "engine/kv_cache.h"

namespace vt {

Status Pass::QkNorm(const LayerSpec& layer, const LinearRef& norm, float* x, std::int64_t heads) {
  if (layer.unit_qk_norm) return RmsNorm(nullptr, x, x, rows_ * heads, layer.key_dim);
  if (!norm) return {};
  const bool whole = spec_.qk_norm_span == NormSpan::kRow;
  return Norm(norm, spec_.qk_norm, x, x, whole ? rows_ : rows_ * heads,
              whole ? heads * layer.key_dim : layer.key_dim);
}

Status Pass::Rotate(int rope_index, float* x, std::int64_t heads, std::int64_t head_dim,
                    std::int64_t stride) {
  if (rope_index < 0) return {};
  const auto i = static_cast<std::size_t>(rope_index);
  const RopeSpec& rope = spec_.ropes[i];
  return ops_->Run(RopeArgs{
      .x = x,
      .table = b_->rope_tables[i],
      .rows = rows_,
      .heads = heads,
      .head_dim = head_dim,
      .pairs = rope.dims / 2,
      .layout = rope.pairing == RopePairing::kHalf ? RopeLayout::kHalf : RopeLayout::kInterleaved,
      .stride = stride});
}

Status Pass::NormAndRotate(const LayerSpec& layer, const LinearRef& norm, float* x,
                           std::int64_t heads) {
  if (layer.rope_before_norm) {
    VT_RETURN_IF_ERROR(Rotate(layer.rope, x, heads, layer.key_dim));
    return QkNorm(layer, norm, x, heads);
  }
  VT_RETURN_IF_ERROR(QkNorm(layer, norm, x, heads));
  return Rotate(layer.rope, x, heads, layer.key_dim);
}

Status Pass::ScaleQueries(const LayerSpec& layer, float* q) {
  if (!layer.tempered || spec_.temperature_scale == 0.0) return {};
  const std::int64_t cols = layer.heads * layer.key_dim;
  const auto length = static_cast<double>(spec_.temperature_length);
  for (std::int64_t r = 0; r < rows_; ++r) {
    const double position = ops_->dry() ? 0.0 : static_cast<double>(b_->positions[r]);
    const double turns = std::floor((position + spec_.temperature_offset) / length);
    const auto scale = static_cast<float>(1.0 + spec_.temperature_scale * std::log(1.0 + turns));
    if (scale == 1.0f && !ops_->dry()) continue;
    VT_RETURN_IF_ERROR(ops_->Run(ScaleCapArgs{.x = q + r * cols, .count = cols, .scale = scale}));
  }
  return {};
}

std::size_t Pass::GroupOf(int index) const {
  return static_cast<std::size_t>(c_.plan.kv[static_cast<std::size_t>(index)].group);
}

KvCells Pass::CellsOf(int index, Cells which) const {
  if (c_.cache) {
    switch (which) {
      case Cells::kKeys:
        return c_.cache->Keys(index);
      case Cells::kValues:
        return c_.cache->Values(index);
      case Cells::kIndex:
        return c_.cache->Index(index);
    }
  }
  const KvLayerBytes& bytes = c_.plan.kv[static_cast<std::size_t>(index)];
  const std::uint64_t cell = which == Cells::kKeys     ? bytes.key_cell
                             : which == Cells::kValues ? bytes.value_cell
                                                       : bytes.index_cell;
  return {.type = c_.plan.options.kv_type, .cell_bytes = static_cast<std::int64_t>(cell)};
}

Status Pass::StoreCells(int index, const float* keys, std::int64_t key_cols, const float* values,
                        std::int64_t value_cols) {
  ops_->At(index, "kv");
  const auto store = [&](const float* x, std::int64_t cols, Cells which) {
    return ops_->Run(KvStoreArgs{.x = x,
                                 .slots = b_->slots[GroupOf(index)],
                                 .rows = rows_,
                                 .cols = cols,
                                 .cells = CellsOf(index, which)});
  };
  VT_RETURN_IF_ERROR(store(keys, key_cols, Cells::kKeys));
  return value_cols > 0 ? store(values, value_cols, Cells::kValues) : Status();
}

Status Pass::Queries(int index, const LayerSpec& layer, Operand& input, float** q) {
  ops_->At(index, "attn_q");
  VT_RETURN_IF_ERROR(Matmul(input, layer.q, b_->q));
  *q = b_->q;
  if (layer.gated_q) {
    const std::int64_t dim = layer.key_dim;
    VT_RETURN_IF_ERROR(CopyColumns(b_->q, 2 * dim, b_->q_split, dim, rows_ * layer.heads, dim));
    VT_RETURN_IF_ERROR(
        CopyColumns(b_->q + dim, 2 * dim, b_->attn_gate, dim, rows_ * layer.heads, dim));
    *q = b_->q_split;
  }
  VT_RETURN_IF_ERROR(NormAndRotate(layer, layer.q_norm, *q, layer.heads));
  return ScaleQueries(layer, *q);
}

Status Pass::KeysAndValues(int index, const LayerSpec& layer, Operand& input) {
  const std::int64_t keys = layer.kv_heads * layer.key_dim;
  const std::int64_t values = layer.kv_heads * layer.value_dim;
  ops_->At(index, "attn_k");
  VT_RETURN_IF_ERROR(Matmul(input, layer.k, b_->k));
  if (!layer.v) VT_RETURN_IF_ERROR(CopyColumns(b_->k, keys, b_->v, values, rows_, values));
  VT_RETURN_IF_ERROR(NormAndRotate(layer, layer.k_norm, b_->k, layer.kv_heads));
  ops_->At(index, "attn_v");
  if (layer.v) VT_RETURN_IF_ERROR(Matmul(input, layer.v, b_->v));
  if (layer.unit_v_norm) {
    VT_RETURN_IF_ERROR(RmsNorm(nullptr, b_->v, b_->v, rows_ * layer.kv_heads, layer.value_dim));
  }
  return StoreCells(index, b_->k, keys, b_->v, values);
}

Status Pass::Attention(int index, const LayerSpec& layer, Operand& input) {
  float* q = nullptr;
  VT_RETURN_IF_ERROR(Queries(index, layer, input, &q));
  const int source = layer.kv_source < 0 ? index : layer.kv_source;
  if (source == index) VT_RETURN_IF_ERROR(KeysAndValues(index, layer, input));
  if (layer.attn_gate) {
    ops_->At(index, "attn_gate");
    VT_RETURN_IF_ERROR(Matmul(input, layer.attn_gate, b_->attn_gate));
  }
  ops_->At(index, "attn");
  VT_RETURN_IF_ERROR(ops_->Run(AttentionArgs{.q = q,
                                             .k = CellsOf(source, Cells::kKeys),
                                             .v = CellsOf(source, Cells::kValues),
                                             .row = b_->attention_rows[GroupOf(source)],
                                             .rows = rows_,
                                             .heads = layer.heads,
                                             .kv_heads = layer.kv_heads,
                                             .key_dim = layer.key_dim,
                                             .value_dim = layer.value_dim,
                                             .page_cells = kPageCells,
                                             .scale = layer.attention_scale,
                                             .softcap = layer.attention_softcap,
                                             .sinks = w_->Floats(layer.sinks),
                                             .scratch = b_->scratch,
                                             .scratch_floats = Sizes().scratch_floats,
                                             .out = b_->attention}));
  const std::int64_t cols = layer.heads * layer.value_dim;
  if (layer.value_scale != 1.0f) {
    VT_RETURN_IF_ERROR(ops_->Run(
        ScaleCapArgs{.x = b_->attention, .count = rows_ * cols, .scale = layer.value_scale}));
  }
  if (!layer.gated_q && !layer.attn_gate) return {};
  const std::int64_t gates = layer.gated_q ? cols : layer.attn_gate.weight.rows;
  const bool each_head =
      gates == layer.heads && gates != cols;  // a gate for all of a head's values
  return ops_->Run(SigmoidMulArgs{.x = b_->attention,
                                  .gate = b_->attn_gate,
                                  .out = b_->attention,
                                  .rows = each_head ? rows_ * layer.heads : rows_,
                                  .cols = each_head ? layer.value_dim : cols,
                                  .gate_cols = each_head ? 1 : cols});
}

}  // namespace vt
