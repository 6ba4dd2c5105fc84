// What the architectures share: head counts and sizes, RoPE and its scaling.
#include <cmath>
#include <numbers>

#include "formats/file_error.h"
#include "formats/hf_architecture.h"

namespace vt {
namespace {

// Both spellings of the same facts.
struct RopeKeys {
  const HfConfig& config;
  std::string at;  // the object that holds them

  explicit RopeKeys(const HfConfig& from) : config(from) {
    at = config.Has("rope_parameters") ? "rope_parameters." : "rope_scaling.";
  }
  std::string Key(std::string_view name) const { return at + std::string(name); }
  Result<std::optional<double>> F64(std::string_view name) const { return config.F64(Key(name)); }
  Result<double> Need(std::string_view name) const { return config.NeedF64(Key(name)); }
};

Result<std::uint64_t> HeadDim(const HfModel& model) {
  const HfConfig& config = model.config;
  VT_ASSIGN_OR_RETURN(const auto given, config.U64("head_dim"));
  VT_ASSIGN_OR_RETURN(const std::uint64_t width, config.NeedU64("hidden_size"));
  constexpr std::uint64_t kMostDim = 65536;
  const std::uint64_t dim = given.value_or(width / model.heads);
  if (dim == 0 || dim % 2 != 0 || dim > kMostDim) {
    return config.Bad("head_dim", std::to_string(dim) + " (want an even number from 2 to " +
                                      std::to_string(kMostDim) + ")");
  }
  return dim;
}

// Llama-3's scaling: long waves are stretched by `factor`, short ones stay, those between blend.
Status AddLlama3(const RopeKeys& keys, double base, HfModel& model) {
  VT_ASSIGN_OR_RETURN(const double factor, keys.Need("factor"));
  VT_ASSIGN_OR_RETURN(const double low, keys.Need("low_freq_factor"));
  VT_ASSIGN_OR_RETURN(const double high, keys.Need("high_freq_factor"));
  VT_ASSIGN_OR_RETURN(const double context, keys.Need("original_max_position_embeddings"));
  if (!(factor > 0) || !(low > 0) || !(high > low) || !(context > 0)) {
    return model.config.Bad(keys.Key("high_freq_factor"),
                            "factor " + std::to_string(factor) + ", low_freq_factor " +
                                std::to_string(low) + ", high_freq_factor " + std::to_string(high) +
                                ", original_max_position_embeddings " + std::to_string(context) +
                                " (want all above 0, high above low)");
  }
  VT_ASSIGN_OR_RETURN(const std::uint64_t dim, HeadDim(model));
  HfComputed freqs{.name = "rope_freqs.weight", .values = {}};
  for (std::uint64_t i = 0; i < dim / 2; ++i) {
    const double frequency =
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
    const double wave = 2 * std::numbers::pi / frequency;
    const double blend = (context / wave - low) / (high - low);
    const double divisor = wave < context / high  ? 1.0
                           : wave > context / low ? factor
                                                  : 1 / ((1 - blend) / factor + blend);
    freqs.values.push_back(static_cast<float>(divisor));
  }
  model.computed.push_back(std::move(freqs));
  return {};
}

Status AddYarn(const RopeKeys& keys, HfModel& model) {
  HfMetadata& out = model.metadata;
  VT_ASSIGN_OR_RETURN(const double factor, keys.Need("factor"));
  VT_ASSIGN_OR_RETURN(const std::uint64_t context,
                      model.config.NeedU64(keys.Key("original_max_position_embeddings")));
  out.String(out.Key("rope.scaling.type"), "yarn");
  out.F32(out.Key("rope.scaling.factor"), factor);
  out.U32(out.Key("rope.scaling.original_context_length"), context);
  constexpr std::string_view kOptional[][2] = {
      {"extrapolation_factor", "rope.scaling.yarn_ext_factor"},
      {"attention_factor", "rope.scaling.yarn_attn_factor"},
      {"beta_fast", "rope.scaling.yarn_beta_fast"},
      {"beta_slow", "rope.scaling.yarn_beta_slow"}};
  for (const auto& [hf, gguf] : kOptional) {
    VT_ASSIGN_OR_RETURN(const auto value, keys.F64(hf));
    if (value) out.F32(out.Key(gguf), *value);
  }
  return {};
}

}  // namespace

Status CheckFlag(const HfConfig& config, std::string_view key, bool wanted) {
  VT_ASSIGN_OR_RETURN(const auto value, config.Bool(key));
  if (value.value_or(wanted) == wanted) return {};
  return config.Unsupported(key, std::string(wanted ? "false" : "true") +
                                     " is not supported (want " + (wanted ? "true" : "false") +
                                     ")");
}

Status AddHeads(HfModel& model) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_ASSIGN_OR_RETURN(model.heads, config.NeedU64("num_attention_heads"));
  if (model.heads == 0) return config.Bad("num_attention_heads", "0 (want 1 or more)");
  VT_ASSIGN_OR_RETURN(const auto kv, config.U64("num_key_value_heads"));
  model.kv_heads = kv.value_or(model.heads);
  out.U32(out.Key("attention.head_count"), model.heads);
  out.U32(out.Key("attention.head_count_kv"), model.kv_heads);
  VT_ASSIGN_OR_RETURN(const std::uint64_t dim, HeadDim(model));
  if (config.Has("head_dim")) {
    out.U32(out.Key("attention.key_length"), dim);
    out.U32(out.Key("attention.value_length"), dim);
  }
  out.U32(out.Key("rope.dimension_count"), dim);
  return {};
}

Status AddRope(HfModel& model) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  const RopeKeys keys(config);
  VT_ASSIGN_OR_RETURN(const auto theta, config.F64("rope_theta"));
  VT_ASSIGN_OR_RETURN(const auto inner_theta, keys.F64("rope_theta"));
  const double base = inner_theta.value_or(theta.value_or(10000.0));
  if (!(base > 0)) return config.Bad("rope_theta", std::to_string(base) + " (want above 0)");
  out.F32(out.Key("rope.freq_base"), base);
  // The key was once "type".
  const std::string type_key = keys.Key(config.Has(keys.Key("rope_type")) ? "rope_type" : "type");
  VT_RETURN_IF_ERROR(config.CheckString(type_key, {"default", "linear", "yarn", "llama3"}));
  VT_ASSIGN_OR_RETURN(const auto given, config.String(type_key));
  const std::string type = given.value_or("default");
  if (type == "llama3") return AddLlama3(keys, base, model);
  if (type == "yarn") return AddYarn(keys, model);
  if (type == "linear") {
    VT_ASSIGN_OR_RETURN(const double factor, keys.Need("factor"));
    out.String(out.Key("rope.scaling.type"), "linear");
    out.F32(out.Key("rope.scaling.factor"), factor);
  }
  return {};
}

}  // namespace vt
