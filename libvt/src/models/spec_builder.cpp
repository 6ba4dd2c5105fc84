#include "models/spec_builder.h"

#include <algorithm>
#include <cmath>

namespace vt {
namespace {

constexpr std::uint64_t kMaxDim = 1u << 24;
constexpr std::uint64_t kMaxHeads = 1u << 16;
constexpr std::uint64_t kMaxContext = 1ull << 31;

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

SpecBuilder::SpecBuilder(const GgufFile& file, const Family& family)
    : file_(file), family_(family), used_(file.tensors().size(), false) {}

Result<ModelSpec> SpecBuilder::Build() {
  if (!file_.FindTensor("token_embd.weight")) {
    return CorruptError(
        "tensor \"token_embd.weight\": missing" +
        std::string(file_.tensors().empty() ? " (the file has no weights at all)" : ""));
  }
  ModelSpec spec;
  spec.architecture = family_.architecture;
  spec.norm = family_.norm;
  spec.qk_norm = family_.qk_norm_kind;
  spec.qk_norm_span = family_.qk_norm_span;
  spec.ffn = family_.ffn;
  spec.activation = family_.activation;
  VT_RETURN_IF_ERROR(ReadSizes(spec));
  VT_RETURN_IF_ERROR(ReadHeads(spec));
  VT_RETURN_IF_ERROR(ReadWindows(spec));
  VT_RETURN_IF_ERROR(ReadRopes(spec));
  if (family_.scaled_embedding) spec.embedding_scale = std::sqrt(static_cast<float>(spec.width));
  if (family_.adjust) VT_RETURN_IF_ERROR(family_.adjust(*this, spec));
  VT_RETURN_IF_ERROR(ReadTensors(spec));
  return spec;
}

Status SpecBuilder::ReadSizes(ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(auto name, file_.GetString("general.name"));
  spec.name = std::string(name.value_or(""));
  VT_ASSIGN_OR_RETURN(spec.context_train, RequiredCount("context_length", 1, kMaxContext));
  VT_ASSIGN_OR_RETURN(const std::uint64_t width, RequiredCount("embedding_length", 1, kMaxDim));
  spec.width = Signed(width);
  // A layer has at least one tensor, so the file itself bounds the count.
  const std::uint64_t most_layers = std::max<std::uint64_t>(1, file_.tensors().size());
  VT_ASSIGN_OR_RETURN(layer_count_, RequiredCount("block_count", 1, most_layers));
  VT_ASSIGN_OR_RETURN(const auto experts, Count("expert_count", 0, kMaxHeads));
  if (experts.value_or(0) > 0) {
    return UnsupportedError("architecture \"" + spec.architecture + "\": a mixture of " +
                            std::to_string(*experts) + " experts (" + Key("expert_count") +
                            ") cannot be run; only its dense models can");
  }
  spec.layers.resize(layer_count_);
  const char* eps = family_.norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                                   : "attention.layer_norm_epsilon";
  VT_ASSIGN_OR_RETURN(const auto norm_eps, Number(eps, 0.0, 1.0));
  if (!norm_eps) return CorruptError("key \"" + Key(eps) + "\": missing (allowed 0 to 1)");
  spec.norm_eps = static_cast<float>(*norm_eps);
  return {};
}

Status SpecBuilder::ReadHeads(ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto heads, CountPerLayer("attention.head_count", 1, kMaxHeads));
  if (!heads) return CorruptError("key \"" + Key("attention.head_count") + "\": missing");
  VT_ASSIGN_OR_RETURN(const auto kv_heads, CountPerLayer("attention.head_count_kv", 1, kMaxHeads));
  VT_ASSIGN_OR_RETURN(const auto ffn, CountPerLayer("feed_forward_length", 1, kMaxDim));
  if (!ffn) return CorruptError("key \"" + Key("feed_forward_length") + "\": missing");
  VT_ASSIGN_OR_RETURN(const auto key_length, Count("attention.key_length", 1, kMaxDim));
  VT_ASSIGN_OR_RETURN(const auto value_length, Count("attention.value_length", 1, kMaxDim));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    layer.heads = Signed((*heads)[i]);
    layer.kv_heads = kv_heads ? Signed((*kv_heads)[i]) : layer.heads;
    if (layer.heads % layer.kv_heads != 0) {
      return CorruptError("key \"" + Key("attention.head_count_kv") +
                          "\": " + std::to_string(layer.kv_heads) + " does not divide the " +
                          std::to_string(layer.heads) + " heads of " + Key("attention.head_count"));
    }
    if ((!key_length || !value_length) && spec.width % layer.heads != 0) {
      return CorruptError("key \"" + Key("attention.head_count") +
                          "\": " + std::to_string(layer.heads) + " does not divide " +
                          Key("embedding_length") + " " + std::to_string(spec.width) +
                          ", and no attention.key_length is given");
    }
    layer.key_dim = key_length ? Signed(*key_length) : spec.width / layer.heads;
    layer.value_dim = value_length ? Signed(*value_length) : spec.width / layer.heads;
    const bool by_width = layer_count_ == family_.width_scaled_layers;
    const std::int64_t scaled_by = by_width ? spec.width / layer.heads : layer.key_dim;
    layer.attention_scale = 1.0f / std::sqrt(static_cast<float>(scaled_by));
    layer.ffn_width = Signed((*ffn)[i]);
  }
  return {};
}

Status SpecBuilder::ReadWindows(ModelSpec& spec) {
  windowed_.assign(spec.layers.size(), false);
  const WindowPattern& rule = family_.window;
  if (rule.when == WindowPattern::When::kNever) return {};
  VT_ASSIGN_OR_RETURN(const auto key, Count("attention.sliding_window", 0, kMaxContext));
  if (rule.when == WindowPattern::When::kIfKey && key.value_or(0) == 0) return {};
  const std::uint64_t window = key.value_or(rule.default_window);
  if (window == 0) {
    return CorruptError("key \"" + Key("attention.sliding_window") + "\": missing or 0");
  }
  const char* pattern = "attention.sliding_window_pattern";
  const GgufValue* value = file_.Find(Key(pattern));
  std::uint64_t period = rule.period;
  if (value && value->is_array()) {
    VT_ASSIGN_OR_RETURN(const auto flags, CountPerLayer(pattern, 0, 1));
    for (std::size_t i = 0; i < windowed_.size(); ++i) windowed_[i] = (*flags)[i] != 0;
  } else {
    VT_ASSIGN_OR_RETURN(const auto given, Count(pattern, 0, kMaxContext));
    period = given.value_or(period);
    for (std::size_t i = 0; i < windowed_.size(); ++i) {
      windowed_[i] = period == 0 || i % period < period - 1;
    }
  }
  for (std::size_t i = 0; i < windowed_.size(); ++i) {
    if (windowed_[i]) spec.layers[i].window = Signed(window);
  }
  return {};
}

Status SpecBuilder::ReadRopes(ModelSpec& spec) {
  if (!family_.rotary) return {};
  const std::uint64_t key_dim = static_cast<std::uint64_t>(spec.layers[0].key_dim);
  RopeSpec rope;
  rope.pairing = family_.pairing;
  VT_ASSIGN_OR_RETURN(const auto dims, Count("rope.dimension_count", 1, key_dim));
  rope.dims = Signed(dims.value_or(key_dim));
  if (rope.dims % 2 != 0) {
    return CorruptError("key \"" + Key("rope.dimension_count") +
                        "\": " + std::to_string(rope.dims) + " is odd");
  }
  VT_ASSIGN_OR_RETURN(rope.base, NumberOr("rope.freq_base", 10000.0, 1e-3, 1e12));
  VT_ASSIGN_OR_RETURN(const auto original,
                      Count("rope.scaling.original_context_length", 1, kMaxContext));
  rope.original_context = original.value_or(spec.context_train);
  VT_ASSIGN_OR_RETURN(const auto kind, file_.GetString(Key("rope.scaling.type")));
  VT_ASSIGN_OR_RETURN(auto factor, Number("rope.scaling.factor", 0.0, 1e6));
  if (!factor) {
    VT_ASSIGN_OR_RETURN(factor, Number("rope.scale_linear", 0.0, 1e6));
  }
  const std::string_view scaling = kind.value_or("linear");
  if (scaling == "none") {
    rope.scaling = RopeSpec::Scaling::kNone;
  } else if (scaling == "linear") {
    rope.scaling = factor ? RopeSpec::Scaling::kLinear : RopeSpec::Scaling::kNone;
  } else if (scaling == "yarn") {
    rope.scaling = RopeSpec::Scaling::kYarn;
  } else if (scaling == "longrope") {
    rope.scaling = RopeSpec::Scaling::kLongRope;
  } else {
    return UnsupportedError("key \"" + Key("rope.scaling.type") + "\": \"" + std::string(scaling) +
                            "\" is not known (known: none, linear, yarn, longrope)");
  }
  if (rope.scaling != RopeSpec::Scaling::kNone && factor.value_or(0) > 0) rope.factor = *factor;
  VT_ASSIGN_OR_RETURN(rope.attention_factor, NumberOr("rope.scaling.attn_factor", 1.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(rope.beta_fast, NumberOr("rope.scaling.yarn_beta_fast", 32.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(rope.beta_slow, NumberOr("rope.scaling.yarn_beta_slow", 1.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(rope.log_multiplier,
                      NumberOr("rope.scaling.yarn_log_multiplier", 0.0, 0.0, 1e6));

  const std::int64_t pairs = rope.dims / 2;
  VT_ASSIGN_OR_RETURN(rope.factors, Tensor("rope_freqs.weight", 1, pairs, Presence::kOptional));
  VT_ASSIGN_OR_RETURN(rope.factors_long,
                      Tensor("rope_factors_long.weight", 1, pairs, Presence::kOptional));
  VT_ASSIGN_OR_RETURN(rope.factors_short,
                      Tensor("rope_factors_short.weight", 1, pairs, Presence::kOptional));
  if (static_cast<bool>(rope.factors_long) != static_cast<bool>(rope.factors_short)) {
    return CorruptError(
        "tensor \"" +
        std::string(rope.factors_long ? "rope_factors_short.weight" : "rope_factors_long.weight") +
        "\": missing, though its counterpart is there");
  }
  spec.ropes.push_back(rope);

  const bool any_window = std::find(windowed_.begin(), windowed_.end(), true) != windowed_.end();
  if (any_window) {
    RopeSpec local = rope;
    if (family_.window_rope == WindowRope::kOwnBase) local.base = 10000.0;
    if (family_.window_rope != WindowRope::kSame) {
      local.scaling = RopeSpec::Scaling::kNone;
      local.factor = 1.0;
      local.attention_factor = 1.0;
    }
    VT_ASSIGN_OR_RETURN(local.base, NumberOr("rope.freq_base_swa", local.base, 1e-3, 1e12));
    spec.ropes.push_back(local);
  }
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (spec.layers[i].key_dim < rope.dims) {
      return CorruptError("key \"" + Key("rope.dimension_count") +
                          "\": " + std::to_string(rope.dims) + " exceeds the head's " +
                          std::to_string(spec.layers[i].key_dim) + " values in layer " +
                          std::to_string(i));
    }
    spec.layers[i].rope = windowed_[i] ? 1 : family_.rotary_only_windowed && any_window ? -1 : 0;
  }
  return {};
}

}  // namespace vt
