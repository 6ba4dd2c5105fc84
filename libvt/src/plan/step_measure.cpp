#include "plan/step_measure.h"

#include <algorithm>

#include "base/arena.h"
#include "models/spec_weights.h"
#include "plan/placement.h"

namespace vt {
namespace {

std::uint64_t Bytes(std::int64_t count, std::uint64_t element) {
  return AlignUp(static_cast<std::uint64_t>(count) * element);
}

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class StepMeasure {
 public:
  explicit StepMeasure(const EnginePlan& plan) : context_(plan.options.context) {}

  void Add(const ModelSpec& spec, const LayerSpec& layer, const PartSet::Layer& parts) {
    if (parts.mixer) AddMixer(layer);
    if (parts.ffn) {
      Widen(s.ffn, layer.ffn_width);
      Widen(input_, layer.ffn_width);
      if (layer.ple_gate) s.ple_width = spec.ple_width;
    }
    if (layer.moe.experts == 0) return;
    if (parts.ffn) AddRouter(spec, layer.moe);
    if (parts.experts) AddExperts(spec, layer.moe);
  }

  StepSizes Finish() {
    input_ = std::max(input_, s.width);
    s.quantized = CeilDiv(std::max(input_, pair_input_), kQ15Group) * kQ15Group;
    return s;
  }

  StepSizes s;

 private:
  static void Widen(std::int64_t& size, std::int64_t other) { size = std::max(size, other); }

  void AddMixer(const LayerSpec& layer) {
    if (layer.mixer == MixerKind::kAttention) AddAttention(layer);
    if (layer.mixer == MixerKind::kLatent) AddLatent(layer);
    if (layer.recurs()) AddRecurrent(layer.recurrent);
  }

  void AddScratch(std::int64_t heads, std::int64_t kv_heads, std::int64_t window) {
    const auto context = static_cast<std::int64_t>(context_);
    Widen(s.scratch_floats, AttentionScratchFloats(
                                heads, kv_heads, window > 0 ? std::min(window, context) : context));
  }

  void AddAttention(const LayerSpec& layer) {
    const std::int64_t q = layer.heads * layer.key_dim;
    const std::int64_t out = layer.heads * layer.value_dim;
    Widen(s.q, layer.gated_q ? 2 * q : q);
    Widen(s.k, layer.kv_heads * layer.key_dim);
    Widen(s.v, layer.kv_heads * layer.value_dim);
    Widen(s.attention, out);
    if (layer.gated_q) Widen(s.q_split, q);
    if (layer.gated_q || layer.attn_gate) Widen(s.attn_gate, std::max(q, out));
    Widen(input_, out);
    AddScratch(layer.heads, layer.kv_heads, layer.window);
  }

  void AddLatent(const LayerSpec& layer) {
    const LatentSpec& latent = layer.latent;
    const std::int64_t cell = latent.kv_rank + latent.rope_dim;
    Widen(s.q, layer.heads * (latent.nope_dim + latent.rope_dim));
    Widen(s.attention, layer.heads * layer.value_dim);
    Widen(s.q_latent, latent.q_rank);
    Widen(s.kv_latent, cell);
    if (latent.kv_b) {
      Widen(s.latent_out, latent.kv_rank);
      Widen(s.kv_expanded, latent.kv_b.weight.rows);
      Widen(s.k, layer.heads * layer.key_dim);
      Widen(s.v, layer.heads * layer.value_dim);
      AddScratch(layer.heads, layer.heads, layer.window);
    } else {
      Widen(s.q_absorbed, layer.heads * cell);
      Widen(s.latent_out, layer.heads * latent.kv_rank);
      AddScratch(layer.heads, 1, layer.window);
    }
    input_ = std::max({input_, latent.q_rank, latent.kv_rank, layer.heads * layer.value_dim});
    const IndexerSpec& indexer = latent.indexer;
    if (indexer.heads == 0) return;
    Widen(s.index_q, indexer.heads * indexer.dim);
    Widen(s.index_k, indexer.dim);
    Widen(s.index_weights, indexer.heads);
    Widen(s.index_top, indexer.top);
    s.sparse = 1;
    AddScratch(1, 1, 0);
  }

  void AddRecurrent(const RecurrentSpec& r) {
    s.state_rows = 1;
    Widen(s.recurrent_in, r.in.weight.rows);
    Widen(s.recurrent_gate, std::max(r.gate.weight.rows, r.channels));
    Widen(s.recurrent_heads, r.heads);
    Widen(s.conv, r.channels);
    const std::int64_t out = std::max(r.heads * r.head_dim, r.channels);
    Widen(s.recurrent_out, out);
    Widen(input_, out);
  }

  void AddRouter(const ModelSpec& spec, const MoeSpec& moe) {
    Widen(s.experts, moe.experts);
    Widen(s.used, moe.used);
    s.moe = spec.width;
    Widen(s.shared, moe.shared_width);
    Widen(input_, moe.shared_width);
  }

  void AddExperts(const ModelSpec& spec, const MoeSpec& moe) {
    Widen(s.used, moe.used);
    s.moe = spec.width;
    Widen(s.pair_in, spec.width);
    Widen(s.pair_inner, moe.width);
    Widen(pair_input_,
          moe.used * (CeilDiv(std::max(spec.width, moe.width), kQ15Group) * kQ15Group));
  }

  std::uint64_t context_;
  std::int64_t input_ = 0;
  std::int64_t pair_input_ = 0;
};

void Mark(PartSet& parts, ModelPart part, int layer) {
  if (part == ModelPart::kInput) {
    parts.input = true;
  } else if (part == ModelPart::kOutput) {
    parts.output = true;
  } else {
    PartSet::Layer& l = parts.layers[static_cast<std::size_t>(layer)];
    (part == ModelPart::kMixer ? l.mixer : part == ModelPart::kFfn ? l.ffn : l.experts) = true;
  }
}

}  // namespace

bool PartSet::any() const {
  return input || output || std::any_of(layers.begin(), layers.end(), [](const Layer& l) {
           return l.mixer || l.ffn || l.experts;
         });
}

std::vector<PartSet> PartsByDevice(const ModelSpec& spec, const Placement& placement) {
  std::vector<PartSet> sets(placement.devices.size());
  for (PartSet& set : sets) set.layers.resize(spec.layers.size());
  const auto mark = [&](int device, ModelPart part, int layer) {
    Mark(sets[static_cast<std::size_t>(device)], part, layer);
  };
  mark(placement.input, ModelPart::kInput, -1);
  mark(placement.output, ModelPart::kOutput, -1);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const int layer = static_cast<int>(i);
    mark(placement.layers[i].mixer, ModelPart::kMixer, layer);
    mark(placement.layers[i].ffn, ModelPart::kFfn, layer);
    if (spec.layers[i].moe.experts > 0) {
      mark(placement.layers[i].experts, ModelPart::kExperts, layer);
    }
  }
  VisitWeights(spec, [&](int layer, const char* place, WeightUse use, const WeightRef& ref) {
    if (use != WeightUse::kMatrix) return;
    mark(placement.tensors[static_cast<std::size_t>(ref.tensor)], PartOf(layer, place), layer);
  });
  return sets;
}

StepSizes MeasureStep(const ModelSpec& spec, const EnginePlan& plan, const PartSet& parts) {
  StepMeasure measure(plan);
  StepSizes& s = measure.s;
  if (!parts.any()) return s;
  s.tokens = plan.options.ubatch;
  s.width = spec.width;
  s.threads = plan.options.threads;
  if (parts.output) {
    s.logit_rows = plan.options.logit_rows;
    s.vocab = spec.vocab;
  }
  if (parts.input && spec.ple_width > 0) {
    s.ple_width = spec.ple_width;
    s.ple = spec.ple_width * static_cast<std::int64_t>(spec.layers.size());
  }
  bool mixers = false;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    measure.Add(spec, spec.layers[i], parts.layers[i]);
    mixers = mixers || parts.layers[i].mixer;
  }
  if (mixers) {
    s.groups = static_cast<std::int64_t>(plan.groups.size());
    for (const RopeSpec& rope : spec.ropes) s.rope_values += rope.dims;
  }
  return measure.Finish();
}

std::uint64_t ActivationBytes(const StepSizes& s) {
  std::uint64_t total = 0;
#define VT_ADD(type, name, elements) total += Bytes(s.tokens * (elements), sizeof(type));
  VT_STEP_BUFFERS(VT_ADD)
#undef VT_ADD
  return total;
}

std::uint64_t LogitBytes(const StepSizes& s) {
  return Bytes(s.logit_rows, sizeof(std::int32_t)) + Bytes(s.logit_rows * s.width, sizeof(float)) +
         Bytes(s.logit_rows * s.vocab, sizeof(float));
}

std::uint64_t ScratchBytes(const StepSizes& s) {
  return static_cast<std::uint64_t>(s.threads) * Bytes(s.scratch_floats, sizeof(float));
}

}  // namespace vt
