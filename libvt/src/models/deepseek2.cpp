// DeepSeek V2 to V3.2, GLM-5 and Mistral 4: multi-head latent attention, routed and shared experts
// after leading dense layers, and in the newer ones an indexer that selects positions.
#include <cmath>

#include "models/family.h"
#include "models/rope.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::uint64_t kMostIndex = 1u << 20;
// GLM-5 of this context and more has an indexer in some layers only, where the file does not say.
constexpr std::uint64_t kLongContext = 1048576;

Status AllLatent(const SpecBuilder&, ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) layer.mixer = MixerKind::kLatent;
  return {};
}

// YaRN as DeepSeek uses it: the file holds a tenth of mscale_all_dim, and the logits' scale grows
// with the square of 1 + 0.1 mscale_all_dim ln F, besides the size of cos and sin.
void ScaleByYarn(ModelSpec& spec) {
  RopeSpec& rope = spec.ropes[0];
  if (rope.scaling != RopeSpec::Scaling::kYarn) return;
  const double all_dims = rope.log_multiplier / 0.1;
  // DeepSeek V2 has two equal scales, which cancel in cos and sin; in the others the first is 1.
  const bool equal = spec.architecture == "deepseek2" && all_dims != 0.0;
  rope.log_multiplier = equal ? 1.0 : all_dims;
  const double m = RopeMagnitude(rope) * (1.0 + 0.1 * all_dims * std::log(rope.factor));
  for (LayerSpec& layer : spec.layers) layer.attention_scale *= static_cast<float>(m * m);
}

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  ScaleByYarn(spec);
  VT_ASSIGN_OR_RETURN(spec.temperature_scale,
                      keys.NumberOr("attention.temperature_scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const auto length, keys.Count("attention.temperature_length", 1, 1u << 31));
  spec.temperature_length = length.value_or(spec.ropes[0].original_context);
  for (LayerSpec& layer : spec.layers) layer.tempered = true;
  return {};
}

// Which layers have an indexer of their own; the others take the choice of the last that has.
Result<std::vector<std::uint64_t>> IndexerOwners(const SpecBuilder& keys, const ModelSpec& spec,
                                                 bool may_share) {
  std::vector<std::uint64_t> own(spec.layers.size(), 1);
  if (!may_share) return own;
  VT_ASSIGN_OR_RETURN(const auto given, keys.CountPerLayer("attention.indexer.types", 0, 1));
  if (given) return *given;
  if (spec.context_train < kLongContext) return own;
  for (std::size_t i = 3; i < own.size(); ++i) own[i] = i % 4 == 2 ? 1 : 0;
  return own;
}

Status AddIndexers(const SpecBuilder& keys, ModelSpec& spec, RopePairing pairing, bool may_share) {
  VT_ASSIGN_OR_RETURN(const std::uint64_t heads,
                      keys.RequiredCount("attention.indexer.head_count", 1, kMostIndex));
  VT_ASSIGN_OR_RETURN(const std::uint64_t dim,
                      keys.RequiredCount("attention.indexer.key_length", 1, kMostIndex));
  VT_ASSIGN_OR_RETURN(const std::uint64_t top,
                      keys.RequiredCount("attention.indexer.top_k", 1, kMostIndex));
  VT_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> own, IndexerOwners(keys, spec, may_share));
  if (own[0] == 0) {
    return CorruptError("key \"" + keys.Key("attention.indexer.types") +
                        "\": layer 0 shares an indexer, but no layer before it has one");
  }
  if (static_cast<std::int64_t>(dim) < spec.ropes[0].dims) {
    return CorruptError("key \"" + keys.Key("attention.indexer.key_length") +
                        "\": " + std::to_string(dim) + " is less than the " +
                        std::to_string(spec.ropes[0].dims) + " rotated values (" +
                        keys.Key("rope.dimension_count") + ")");
  }
  int rope = 0;
  if (pairing != spec.ropes[0].pairing) {
    spec.ropes.push_back(spec.ropes[0]);
    spec.ropes.back().pairing = pairing;
    rope = static_cast<int>(spec.ropes.size()) - 1;
  }
  int source = 0;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (own[i] != 0) source = static_cast<int>(i);
    IndexerSpec& indexer = spec.layers[i].latent.indexer;
    indexer.heads = static_cast<std::int64_t>(heads);
    indexer.dim = static_cast<std::int64_t>(dim);
    indexer.top = static_cast<std::int64_t>(top);
    indexer.source = source;
    indexer.rope = rope;
  }
  return {};
}

Status AdjustDeepSeek32(const SpecBuilder& keys, ModelSpec& spec) {
  VT_RETURN_IF_ERROR(Adjust(keys, spec));
  return AddIndexers(keys, spec, RopePairing::kHalf, false);
}

Status AdjustGlm(const SpecBuilder& keys, ModelSpec& spec) {
  VT_RETURN_IF_ERROR(Adjust(keys, spec));
  return AddIndexers(keys, spec, RopePairing::kInterleaved, true);
}

Family Latent(std::string_view architecture) {
  Family family;
  family.architecture = architecture;
  family.pairing = RopePairing::kInterleaved;
  family.linear_bias = Presence::kNone;
  family.mixers = AllLatent;
  family.adjust = Adjust;
  return family;
}

}  // namespace

Family DeepSeek2Family() { return Latent("deepseek2"); }

Family Mistral4Family() { return Latent("mistral4"); }

Family DeepSeek32Family() {
  Family family = Latent("deepseek32");
  family.adjust = AdjustDeepSeek32;
  return family;
}

Family GlmDsaFamily() {
  Family family = Latent("glm-dsa");
  family.moe.gating = RouterGating::kSigmoid;
  family.adjust = AdjustGlm;
  return family;
}

}  // namespace vt
