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
  if (family_.mixers) VT_RETURN_IF_ERROR(family_.mixers(*this, spec));
  VT_RETURN_IF_ERROR(ReadHeads(spec));
  VT_RETURN_IF_ERROR(ReadMoeSizes(spec));
  VT_RETURN_IF_ERROR(ReadLatentSizes(spec));
  VT_RETURN_IF_ERROR(ReadRecurrentSizes(spec));
  VT_RETURN_IF_ERROR(ReadWindows(spec));
  VT_RETURN_IF_ERROR(ReadWindowedHeads(spec));
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
  // The last blocks may predict further tokens; the decoder does without.
  VT_ASSIGN_OR_RETURN(const auto ahead, Count("nextn_predict_layers", 0, layer_count_ - 1));
  layer_count_ -= ahead.value_or(0);
  spec.layers.resize(layer_count_);
  const char* eps = family_.norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                                   : "attention.layer_norm_epsilon";
  VT_ASSIGN_OR_RETURN(auto norm_eps, Number(eps, 0.0, 1.0));
  if (!norm_eps && family_.layer_norm_eps) {
    VT_ASSIGN_OR_RETURN(norm_eps, Number("attention.layer_norm_epsilon", 0.0, 1.0));
  }
  if (!norm_eps) return CorruptError("key \"" + Key(eps) + "\": missing (allowed 0 to 1)");
  spec.norm_eps = static_cast<float>(*norm_eps);
  return {};
}

Status SpecBuilder::ReadHeads(ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto ffn, CountPerLayer("feed_forward_length", 0, kMaxDim));
  VT_ASSIGN_OR_RETURN(const auto experts, Count("expert_count", 0, kMaxHeads));
  const bool attends = std::any_of(spec.layers.begin(), spec.layers.end(), [](const LayerSpec& l) {
    return l.mixer == MixerKind::kAttention || l.mixer == MixerKind::kLatent;
  });
  if (!ffn && attends && experts.value_or(0) == 0) {
    return CorruptError("key \"" + Key("feed_forward_length") + "\": missing");
  }
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    spec.layers[i].ffn_width = ffn ? Signed((*ffn)[i]) : 0;
    // Only where experts may stand instead, or a layer may have none.
    if (spec.layers[i].ffn_width == 0 && ffn && experts.value_or(0) == 0 && !family_.mixers) {
      return CorruptError("key \"" + Key("feed_forward_length") + "\": 0 in layer " +
                          std::to_string(i) + " (allowed 1 to " + std::to_string(kMaxDim) + ")");
    }
  }
  return attends ? ReadAttentionSizes(spec) : Status();
}

Status SpecBuilder::ReadAttentionSizes(ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto heads, CountPerLayer("attention.head_count", 0, kMaxHeads));
  if (!heads) return CorruptError("key \"" + Key("attention.head_count") + "\": missing");
  VT_ASSIGN_OR_RETURN(const auto kv_heads, CountPerLayer("attention.head_count_kv", 0, kMaxHeads));
  VT_ASSIGN_OR_RETURN(const auto key_length, Count("attention.key_length", 1, kMaxDim));
  VT_ASSIGN_OR_RETURN(const auto value_length, Count("attention.value_length", 1, kMaxDim));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    if (layer.mixer != MixerKind::kAttention && layer.mixer != MixerKind::kLatent) continue;
    layer.heads = Signed((*heads)[i]);
    layer.kv_heads = kv_heads ? Signed((*kv_heads)[i]) : layer.heads;
    const auto positive = [&](const char* key, std::int64_t value) -> Status {
      if (value > 0) return {};
      return CorruptError("key \"" + Key(key) + "\": 0 in layer " + std::to_string(i) +
                          ", which has attention (allowed 1 to " + std::to_string(kMaxHeads) + ")");
    };
    VT_RETURN_IF_ERROR(positive("attention.head_count", layer.heads));
    VT_RETURN_IF_ERROR(positive("attention.head_count_kv", layer.kv_heads));
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
  }
  return {};
}

Status SpecBuilder::ReadWindows(ModelSpec& spec) {
  windowed_.assign(spec.layers.size(), false);
  const WindowPattern& rule = family_.window;
  if (rule.when == WindowPattern::When::kNever) return {};
  VT_ASSIGN_OR_RETURN(const auto key, Count("attention.sliding_window", 0, kMaxContext));
  if (rule.when == WindowPattern::When::kIfKey && key.value_or(0) == 0) return {};
  if (rule.when == WindowPattern::When::kUnlessZero && key && *key == 0) return {};
  const std::uint64_t window = rule.fixed > 0 ? rule.fixed : key.value_or(rule.default_window);
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
      windowed_[i] = period == 0 || i % period != (rule.full_first ? 0 : period - 1);
    }
  }
  for (std::size_t i = 0; i < windowed_.size(); ++i) {
    if (!windowed_[i]) continue;
    spec.layers[i].window = Signed(window);
    spec.layers[i].chunked = rule.chunked;
  }
  return {};
}

// Windowed layers may have heads of another size.
Status SpecBuilder::ReadWindowedHeads(ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto key, Count("attention.key_length_swa", 1, kMaxDim));
  VT_ASSIGN_OR_RETURN(const auto value, Count("attention.value_length_swa", 1, kMaxDim));
  for (LayerSpec& layer : spec.layers) {
    if (layer.window == 0) continue;
    if (value) layer.value_dim = Signed(*value);
    if (!key) continue;
    layer.key_dim = Signed(*key);
    layer.attention_scale = 1.0f / std::sqrt(static_cast<float>(layer.key_dim));
  }
  return {};
}

Status SpecBuilder::ReadRopeFactors(RopeSpec& rope) {
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
  return {};
}

Status SpecBuilder::ReadRopes(ModelSpec& spec) {
  if (!family_.rotary) return {};
  const auto attends = [](const LayerSpec& layer) {
    return layer.mixer == MixerKind::kAttention || layer.mixer == MixerKind::kLatent;
  };
  // Of the layers that see everything; of all where there are none.
  std::int64_t widest = 0;
  for (const bool all : {false, true}) {
    for (const LayerSpec& layer : spec.layers) {
      if (!attends(layer) || (!all && layer.window > 0)) continue;
      widest = std::max(widest, layer.key_dim);
    }
    if (widest > 0) break;
  }
  if (widest == 0) return {};
  const auto key_dim = static_cast<std::uint64_t>(widest);
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

  VT_RETURN_IF_ERROR(ReadRopeFactors(rope));
  spec.ropes.push_back(rope);

  const bool any_window = std::find(windowed_.begin(), windowed_.end(), true) != windowed_.end();
  if (any_window) {
    RopeSpec local = rope;
    VT_ASSIGN_OR_RETURN(const auto local_dims, Count("rope.dimension_count_swa", 1, key_dim));
    if (local_dims) {
      local.dims = Signed(*local_dims);
      local.factors = WeightRef();
    }
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
    if (!attends(spec.layers[i])) continue;
    const std::uint64_t period = family_.unrotated_period;
    const bool unrotated = family_.rotary_only_windowed && any_window && !windowed_[i];
    const int index = windowed_[i] ? 1 : 0;
    const std::int64_t rotated = spec.ropes[static_cast<std::size_t>(index)].dims;
    if (spec.layers[i].key_dim < rotated) {
      return CorruptError("key \"" + Key("rope.dimension_count") +
                          "\": " + std::to_string(rotated) + " exceeds the head's " +
                          std::to_string(spec.layers[i].key_dim) + " values in layer " +
                          std::to_string(i));
    }
    spec.layers[i].rope = unrotated || (period > 0 && i % period == period - 1) ? -1 : index;
    spec.layers[i].rope_before_norm = family_.rope_before_norm;
  }
  return {};
}

}  // namespace vt
