// Which tensor plays which part, with its shape checked.
#include <cmath>

#include "formats/safetensors.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::int64_t kScaleBlock = 128;

std::uint64_t CeilDiv(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

Result<WeightRef> SpecBuilder::Tensor(const std::string& name, std::int64_t rows, std::int64_t cols,
                                      Presence presence) {
  if (presence == Presence::kNone) return WeightRef();
  const GgufTensor* tensor = file_.FindTensor(name);
  if (!tensor) {
    if (presence == Presence::kOptional) return WeightRef();
    return CorruptError("tensor \"" + name + "\": missing (wanted [" + std::to_string(cols) +
                        (rows > 1 ? ", " + std::to_string(rows) : "") + "])");
  }
  if (tensor->cols() != static_cast<std::uint64_t>(cols) ||
      tensor->rows() != static_cast<std::uint64_t>(rows)) {
    return CorruptError("tensor \"" + name + "\": shape " + ShapeText(tensor->dims) +
                        ", but the model's keys want [" + std::to_string(cols) +
                        (rows > 1 ? ", " + std::to_string(rows) : "") + "]");
  }
  switch (tensor->type) {
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF64:
      return UnsupportedError("tensor \"" + name + "\": type " + std::string(NameOf(tensor->type)) +
                              " holds no weights (use a float or block type)");
    default:
      break;
  }
  const auto index = static_cast<std::size_t>(tensor - file_.tensors().data());
  used_[index] = true;
  WeightRef ref{static_cast<int>(index), 0, rows, cols};
  if (tensor->type == DType::kF8_E4M3) {
    VT_RETURN_IF_ERROR(ReadScales(*tensor, ref));
  }
  return ref;
}

Status SpecBuilder::ReadScales(const GgufTensor& tensor, WeightRef& ref) {
  const std::string name(tensor.name);
  if (tensor.dims.size() < 2) {
    return UnsupportedError("tensor \"" + name + "\": f8_e4m3 of shape " + ShapeText(tensor.dims) +
                            " (only matrices can be)");
  }
  const GgufTensor* const by_row = file_.FindTensor(name + "_scale");
  const GgufTensor* const by_block = file_.FindTensor(name + "_scale_inv");
  if (!by_row && !by_block) {
    return CorruptError("tensor \"" + name + "\": f8_e4m3 without its scales (\"" + name +
                        "_scale\", one for each row, or \"" + name +
                        "_scale_inv\", one for each 128 x 128 block)");
  }
  const GgufTensor& scales = by_row ? *by_row : *by_block;
  if (by_row && by_block) {
    return CorruptError("tensor \"" + name + "_scale\": \"" + name +
                        "_scale_inv\" is there too; one of them must go");
  }
  std::vector<std::uint64_t> want(tensor.dims.begin() + 1, tensor.dims.end());
  if (by_block) {
    want = {CeilDiv(tensor.cols(), kScaleBlock), CeilDiv(tensor.dims[1], kScaleBlock)};
    want.insert(want.end(), tensor.dims.begin() + 2, tensor.dims.end());
    ref.scale_rows = ref.scale_cols = kScaleBlock;
    if (tensor.dims.size() > 2) ref.matrix_rows = static_cast<std::int64_t>(tensor.dims[1]);
  }
  if (scales.dims != want) {
    return CorruptError("tensor \"" + std::string(scales.name) + "\": shape " +
                        ShapeText(scales.dims) + ", but a scale for each " +
                        (by_row ? "row" : "128 x 128 block") + " of \"" + name + "\" " +
                        ShapeText(tensor.dims) + " makes " + ShapeText(want));
  }
  if (scales.type != DType::kF32 && scales.type != DType::kF16 && scales.type != DType::kBF16) {
    return UnsupportedError("tensor \"" + std::string(scales.name) + "\": type " +
                            std::string(NameOf(scales.type)) +
                            " holds no scales (f32, f16 or bf16)");
  }
  const auto index = static_cast<std::size_t>(&scales - file_.tensors().data());
  used_[index] = true;
  ref.scales = static_cast<int>(index);
  return {};
}

Result<LinearRef> SpecBuilder::Linear(const std::string& name, std::int64_t rows, std::int64_t cols,
                                      Presence presence, Presence bias) {
  LinearRef linear;
  VT_ASSIGN_OR_RETURN(linear.weight, Tensor(name + ".weight", rows, cols, presence));
  if (linear.weight) {
    VT_ASSIGN_OR_RETURN(linear.bias, Tensor(name + ".bias", 1, rows, bias));
  }
  return linear;
}

Result<LinearRef> SpecBuilder::Norm(const std::string& name, std::int64_t cols, Presence presence) {
  LinearRef norm;
  VT_ASSIGN_OR_RETURN(norm.weight, Tensor(name + ".weight", 1, cols, presence));
  if (norm.weight) {
    VT_ASSIGN_OR_RETURN(norm.bias, Tensor(name + ".bias", 1, cols, family_.norm_bias));
  }
  return norm;
}

Status SpecBuilder::ReadTensors(ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const GgufValue* tokens, file_.GetStringArray("tokenizer.ggml.tokens"));
  if (tokens && tokens->count == 0) {
    return CorruptError("key \"tokenizer.ggml.tokens\": an empty array (wanted a text per token)");
  }
  spec.vocab = static_cast<std::int64_t>(tokens ? tokens->count
                                                : file_.FindTensor("token_embd.weight")->rows());
  VT_ASSIGN_OR_RETURN(spec.embedding,
                      Tensor("token_embd.weight", spec.vocab, spec.width, Presence::kRequired));
  if (family_.position_embedding) {
    VT_ASSIGN_OR_RETURN(
        spec.position_embedding,
        Tensor("position_embd.weight", static_cast<std::int64_t>(spec.context_train), spec.width,
               Presence::kRequired));
  }
  VT_ASSIGN_OR_RETURN(
      spec.output_norm,
      Norm("output_norm", spec.width, family_.output_norm ? Presence::kRequired : Presence::kNone));
  VT_ASSIGN_OR_RETURN(spec.output, Linear("output", spec.vocab, spec.width, Presence::kOptional,
                                          Presence::kOptional));
  if (!spec.output) {
    spec.output.weight = spec.embedding;
    spec.tied = true;
  }
  for (std::size_t i = 0; i < spec.layers.size(); ++i) VT_RETURN_IF_ERROR(ReadLayer(spec, i));
  if (family_.model_tensors) VT_RETURN_IF_ERROR(family_.model_tensors(*this, spec));
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) spec.unused_tensors.emplace_back(file_.tensors()[i].name);
  }
  return {};
}

Status SpecBuilder::ReadLayer(ModelSpec& spec, std::size_t index) {
  LayerSpec& layer = spec.layers[index];
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const Presence pre = family_.pre_norms ? Presence::kRequired : Presence::kNone;
  const Presence post = family_.post_norms ? Presence::kRequired : Presence::kNone;
  if (layer.has_mixer()) {
    VT_ASSIGN_OR_RETURN(layer.attn_norm, Norm(prefix + "attn_norm", spec.width, pre));
    VT_ASSIGN_OR_RETURN(layer.attn_post_norm,
                        Norm(prefix + "post_attention_norm", spec.width, post));
  }
  if (layer.mixer == MixerKind::kAttention) {
    VT_RETURN_IF_ERROR(ReadAttention(layer, prefix, spec.width));
  } else if (layer.mixer == MixerKind::kLatent) {
    VT_RETURN_IF_ERROR(ReadLatent(spec, index, prefix));
  } else if (layer.recurs()) {
    VT_RETURN_IF_ERROR(ReadRecurrent(layer, prefix, spec.width));
  }
  const bool experts = HasExperts(layer.moe, index);
  if (!experts) layer.moe = MoeSpec();
  if (experts || layer.ffn_width > 0) {
    layer.parallel_residual = family_.parallel_residual;
    if (!layer.parallel_residual) {
      const Presence ffn_norm = family_.ffn_norm_optional ? Presence::kOptional : pre;
      VT_ASSIGN_OR_RETURN(layer.ffn_norm,
                          Norm(prefix + std::string(family_.ffn_norm_name), spec.width, ffn_norm));
      layer.parallel_residual = family_.ffn_norm_optional && !layer.ffn_norm;
    }
    if (experts) VT_RETURN_IF_ERROR(ReadExperts(layer, prefix, spec.width));
    const bool beside =
        family_.moe.dense_beside && (!family_.moe.dense_optional || Has(prefix + "ffn_up.weight"));
    if (experts && beside) layer.moe.branch_scale = family_.moe.branch_scale;
    if (!experts || beside) {
      VT_RETURN_IF_ERROR(ReadFfn(layer, prefix, spec.width));
    } else {
      layer.ffn_width = 0;
    }
    VT_ASSIGN_OR_RETURN(layer.ffn_post_norm, Norm(prefix + "post_ffw_norm", spec.width, post));
  }
  if (family_.layer_tensors) {
    VT_RETURN_IF_ERROR(family_.layer_tensors(*this, spec, index, prefix));
  }
  return {};
}

Status SpecBuilder::ReadAttention(LayerSpec& layer, const std::string& prefix, std::int64_t width) {
  VT_RETURN_IF_ERROR(ReadQkv(layer, prefix, width));
  VT_ASSIGN_OR_RETURN(
      layer.o, Linear(prefix + "attn_output", width, layer.heads * layer.value_dim,
                      Presence::kRequired, family_.output_bias.value_or(family_.linear_bias)));
  const bool row = family_.qk_norm_span == NormSpan::kRow;
  const std::int64_t q_cols = row ? layer.heads * layer.key_dim : layer.key_dim;
  const std::int64_t k_cols = row ? layer.kv_heads * layer.key_dim : layer.key_dim;
  const bool each = family_.qk_norm_per_head;
  VT_ASSIGN_OR_RETURN(layer.q_norm.weight, Tensor(prefix + "attn_q_norm.weight",
                                                  each ? layer.heads : 1, q_cols, family_.qk_norm));
  VT_ASSIGN_OR_RETURN(layer.sinks,
                      Tensor(prefix + "attn_sinks.weight", 1, layer.heads, family_.sinks));
  if (layer.kv_source >= 0) return {};
  VT_ASSIGN_OR_RETURN(
      layer.k_norm.weight,
      Tensor(prefix + "attn_k_norm.weight", each ? layer.kv_heads : 1, k_cols, family_.qk_norm));
  return {};
}

Status SpecBuilder::ReadQkv(LayerSpec& layer, const std::string& prefix, std::int64_t width) {
  const std::int64_t q = layer.heads * layer.key_dim * (layer.gated_q ? 2 : 1);
  const std::int64_t k = layer.kv_heads * layer.key_dim;
  const std::int64_t v = layer.kv_heads * layer.value_dim;
  VT_ASSIGN_OR_RETURN(const LinearRef fused, Linear(prefix + "attn_qkv", q + k + v, width,
                                                    Presence::kOptional, Presence::kOptional));
  if (!fused) {
    const Presence bias = family_.linear_bias;
    VT_ASSIGN_OR_RETURN(layer.q, Linear(prefix + "attn_q", q, width, Presence::kRequired, bias));
    if (layer.kv_source >= 0) return {};
    VT_ASSIGN_OR_RETURN(layer.k, Linear(prefix + "attn_k", k, width, Presence::kRequired, bias));
    const Presence values = family_.values_may_be_keys ? Presence::kOptional : Presence::kRequired;
    VT_ASSIGN_OR_RETURN(layer.v, Linear(prefix + "attn_v", v, width, values, bias));
    return {};
  }
  if (!fused.bias && family_.linear_bias == Presence::kRequired) {
    return CorruptError("tensor \"" + prefix + "attn_qkv.bias\": missing (wanted [" +
                        std::to_string(q + k + v) + "])");
  }
  const auto slice = [&](std::int64_t begin, std::int64_t rows) {
    LinearRef part = fused;
    part.weight.row_begin = begin;
    part.weight.rows = rows;
    if (part.bias) {
      part.bias.row_begin = begin;  // of a vector: its first value
      part.bias.cols = rows;
    }
    return part;
  };
  layer.q = slice(0, q);
  layer.k = slice(q, k);
  layer.v = slice(q + k, v);
  return {};
}

Status SpecBuilder::ReadFfn(LayerSpec& layer, const std::string& prefix, std::int64_t width) {
  const std::int64_t ffn = layer.ffn_width;
  const Presence bias = family_.linear_bias;
  if (family_.fused_gate_up) {
    VT_ASSIGN_OR_RETURN(const LinearRef fused, Linear(prefix + "ffn_up", 2 * ffn, width,
                                                      Presence::kRequired, Presence::kNone));
    layer.gate = layer.up = fused;
    layer.gate.weight.rows = layer.up.weight.rows = ffn;
    layer.up.weight.row_begin = ffn;
  } else {
    if (family_.ffn == FfnKind::kGated) {
      VT_ASSIGN_OR_RETURN(layer.gate,
                          Linear(prefix + "ffn_gate", ffn, width, Presence::kRequired, bias));
    }
    VT_ASSIGN_OR_RETURN(layer.up, Linear(prefix + "ffn_up", ffn, width, Presence::kRequired, bias));
  }
  VT_ASSIGN_OR_RETURN(layer.down,
                      Linear(prefix + "ffn_down", width, ffn, Presence::kRequired, bias));
  return {};
}

}  // namespace vt
