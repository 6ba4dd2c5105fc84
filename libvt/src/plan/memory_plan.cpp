#include "plan/memory_plan.h"

#include <algorithm>

#include "base/arena.h"
#include "models/spec_weights.h"
#include "ops/args.h"

namespace vt {
namespace {

std::uint64_t Bytes(std::int64_t count, std::uint64_t element) {
  return AlignUp(static_cast<std::uint64_t>(count) * element);
}

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Values of a position's cell.
struct CellValues {
  std::int64_t kv_heads = 0;
  std::int64_t key_head = 0;
  std::int64_t value_head = 0;
  std::int64_t index = 0;
};

CellValues CellValuesOf(const LayerSpec& layer) {
  if (layer.mixer != MixerKind::kLatent) {
    return {layer.kv_heads, layer.key_dim, layer.value_dim, 0};
  }
  const LatentSpec& latent = layer.latent;
  if (latent.kv_b) return {layer.heads, layer.key_dim, layer.value_dim, 0};
  return {1, latent.kv_rank + latent.rope_dim, 0, latent.indexer.k ? latent.indexer.dim : 0};
}

Status CheckRange(const char* option, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return {};
  return InvalidError(std::string(option) + ": " + std::to_string(value) +
                      " is out of range (allowed " + std::to_string(min) + " to " +
                      std::to_string(max) + ")");
}

Status FillOptions(const ModelSpec& spec, const DeviceInfo& device, EngineOptions& options) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (options.threads == 0) options.threads = device.cores;
  if (options.logit_rows == 0) options.logit_rows = options.sequences;
  VT_RETURN_IF_ERROR(
      CheckRange("context", static_cast<std::int64_t>(options.context), 1, kMost - 1));
  VT_RETURN_IF_ERROR(CheckRange("sequences", options.sequences, 1, 4096));
  VT_RETURN_IF_ERROR(CheckRange("ubatch", options.ubatch, 1, 65536));
  VT_RETURN_IF_ERROR(CheckRange("logit rows", options.logit_rows, 1, 65536));
  VT_RETURN_IF_ERROR(CheckRange("threads", options.threads, 1, 1024));
  if (spec.position_embedding && options.context > spec.context_train) {
    return InvalidError("context: " + std::to_string(options.context) + " exceeds the " +
                        std::to_string(spec.context_train) +
                        " positions that this model has embeddings for");
  }
  // A step never has more tokens than all sequences together can hold.
  const auto room = static_cast<std::int64_t>(options.context) * options.sequences;
  options.ubatch = std::max(std::min(options.ubatch, room), options.sequences);
  return {};
}

// Pages of a group's window; `all_pages` hold the whole context of a sequence.
std::int64_t PagesOf(const LayerSpec& layer, const EngineOptions& options, std::int64_t all_pages) {
  const std::int64_t pages = all_pages * options.sequences;
  if (layer.window == 0) return pages;
  // Per sequence: the window, a page cut at each end; and the step's new tokens between them all.
  const std::int64_t windowed =
      options.sequences * (CeilDiv(layer.window, kPageCells) + 2) + options.ubatch / kPageCells;
  return std::min(pages, windowed);
}

Status CheckQ8Head(std::size_t layer, const char* what, std::int64_t values) {
  if (values % 32 == 0) return {};
  return UnsupportedError("kv type q8_0: head sizes must be multiples of 32 (layer " +
                          std::to_string(layer) + " has " + what + " of " + std::to_string(values) +
                          "); use f16");
}

Status PlanKv(const ModelSpec& spec, EnginePlan& plan) {
  const EngineOptions& options = plan.options;
  const std::int64_t all_pages = CeilDiv(static_cast<std::int64_t>(options.context), kPageCells);
  const auto cell = [&](std::int64_t values) {
    return RowBytes(options.kv_type, static_cast<std::uint64_t>(values));
  };
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    KvLayerBytes bytes;
    if (layer.caches()) {
      const CellValues values = CellValuesOf(layer);
      if (options.kv_type == DType::kQ8_0) {
        VT_RETURN_IF_ERROR(CheckQ8Head(i, "keys", values.key_head));
        VT_RETURN_IF_ERROR(CheckQ8Head(i, "values", values.value_head));
        VT_RETURN_IF_ERROR(CheckQ8Head(i, "indexer keys", values.index));
      }
      auto group = std::find_if(plan.groups.begin(), plan.groups.end(), [&](const KvGroup& g) {
        return g.window == layer.window && g.chunked == layer.chunked;
      });
      if (group == plan.groups.end()) {
        plan.groups.push_back(
            {layer.window, layer.chunked, {}, PagesOf(layer, options, all_pages)});
        group = plan.groups.end() - 1;
      }
      group->layers.push_back(static_cast<int>(i));
      bytes.key_cell = cell(values.kv_heads * values.key_head);
      bytes.value_cell = cell(values.kv_heads * values.value_head);
      bytes.index_cell = cell(values.index);
      bytes.group = static_cast<int>(group - plan.groups.begin());
    }
    plan.kv.push_back(bytes);
  }
  return {};
}

void PlanStates(const ModelSpec& spec, EnginePlan& plan) {
  if (!spec.recurs()) return;
  for (const LayerSpec& layer : spec.layers) {
    StateLayer state;
    if (layer.recurs()) {
      state = {layer.recurrent.conv_floats(), layer.recurrent.state_floats()};
    }
    plan.states.push_back(state);
  }
}

class StepMeasure {
 public:
  explicit StepMeasure(const EnginePlan& plan) : context_(plan.options.context) {}

  void Add(const ModelSpec& spec, const LayerSpec& layer) {
    input_ = std::max({input_, spec.width, layer.ffn_width});
    Widen(s.ffn, layer.ffn_width);
    if (layer.mixer == MixerKind::kAttention) AddAttention(layer);
    if (layer.mixer == MixerKind::kLatent) AddLatent(layer);
    if (layer.recurs()) AddRecurrent(layer.recurrent);
    if (layer.moe.experts > 0) AddExperts(spec, layer);
  }

  StepSizes Finish() {
    s.quantized = CeilDiv(std::max(input_, pair_input_), kQ15Group) * kQ15Group;
    return s;
  }

  StepSizes s;

 private:
  static void Widen(std::int64_t& size, std::int64_t other) { size = std::max(size, other); }

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

  void AddExperts(const ModelSpec& spec, const LayerSpec& layer) {
    const MoeSpec& moe = layer.moe;
    Widen(s.experts, moe.experts);
    Widen(s.used, moe.used);
    Widen(s.pair_in, spec.width);
    Widen(s.pair_inner, moe.width);
    s.moe = spec.width;
    Widen(s.shared, moe.shared_width);
    Widen(input_, moe.shared_width);
    Widen(pair_input_,
          moe.used * (CeilDiv(std::max(spec.width, moe.width), kQ15Group) * kQ15Group));
  }

  std::uint64_t context_;
  std::int64_t input_ = 0;
  std::int64_t pair_input_ = 0;
};

StepSizes MeasureStep(const ModelSpec& spec, const EnginePlan& plan) {
  StepMeasure measure(plan);
  StepSizes& s = measure.s;
  s.tokens = plan.options.ubatch;
  s.logit_rows = plan.options.logit_rows;
  s.width = spec.width;
  s.vocab = spec.vocab;
  s.threads = plan.options.threads;
  s.groups = static_cast<std::int64_t>(plan.groups.size());
  for (const LayerSpec& layer : spec.layers) measure.Add(spec, layer);
  s.ple_width = spec.ple_width;
  s.ple = spec.ple_width * static_cast<std::int64_t>(spec.layers.size());
  for (const RopeSpec& rope : spec.ropes) s.rope_values += rope.dims;
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

// What kernels read as f32; where weights are uploaded, every tensor that the decoder reads, else
// those that do not lie in one piece: each tensor once, in file order.
void PlanWeights(const GgufFile& file, const ModelSpec& spec, bool upload, EnginePlan& plan) {
  std::vector<bool> matrices(file.tensors().size()), floats(file.tensors().size());
  VisitWeights(spec, [&](int, const char*, WeightUse use, const WeightRef& ref) {
    auto& wanted = use == WeightUse::kMatrix ? matrices : floats;
    wanted[static_cast<std::size_t>(ref.tensor)] = true;
    if (ref.scales >= 0) floats[static_cast<std::size_t>(ref.scales)] = true;
  });
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const bool expand = floats[i] && tensor.type != DType::kF32;
    if (expand) {
      plan.expanded.push_back(
          {static_cast<int>(i),
           Bytes(static_cast<std::int64_t>(tensor.cols() * tensor.rows()), sizeof(float))});
    }
    if (!matrices[i] && (!floats[i] || expand)) continue;
    const UploadedTensor copy{static_cast<int>(i), AlignUp(tensor.bytes)};
    if (upload) {
      plan.uploaded.push_back(copy);
    } else if (!file.Contiguous(tensor)) {
      plan.gathered.push_back(copy);
    }
  }
}

}  // namespace

std::uint64_t EnginePlan::RowBytes(std::string_view name) const {
  for (const MemoryRow& row : rows) {
    if (row.row == name) return row.predicted_bytes;
  }
  return 0;
}

Result<EnginePlan> MakePlan(const GgufFile& file, const ModelSpec& spec,
                            const EngineOptions& options, const DeviceInfo& device) {
  EnginePlan plan;
  plan.options = options;
  VT_RETURN_IF_ERROR(FillOptions(spec, device, plan.options));
  VT_RETURN_IF_ERROR(PlanKv(spec, plan));
  plan.sizes = MeasureStep(spec, plan);
  const bool on_host = device.kind == DeviceKind::kCpu;
  PlanWeights(file, spec, !on_host, plan);
  PlanStates(spec, plan);

  std::uint64_t uploaded = 0;
  for (const UploadedTensor& tensor : plan.uploaded) uploaded += tensor.bytes;
  std::uint64_t gathered = 0;
  for (const UploadedTensor& tensor : plan.gathered) gathered += tensor.bytes;
  std::uint64_t expanded = 0;
  for (const ExpandedTensor& weight : plan.expanded) expanded += weight.bytes;
  std::uint64_t kv = 0;
  for (const KvLayerBytes& layer : plan.kv) {
    if (layer.group < 0) continue;
    const std::int64_t cells =
        plan.groups[static_cast<std::size_t>(layer.group)].pages * kPageCells;
    kv += Bytes(cells, layer.key_cell) + Bytes(cells, layer.value_cell) +
          Bytes(cells, layer.index_cell);
  }
  std::uint64_t state = 0;
  for (const StateLayer& layer : plan.states) {
    state += Bytes(plan.options.sequences * layer.conv_floats, sizeof(float)) +
             Bytes(plan.options.sequences * layer.state_floats, sizeof(float));
  }
  const auto row = [&](const char* name, std::uint64_t bytes) {
    plan.rows.push_back({device.id, name, bytes, 0});
  };
  if (on_host) {
    row("weights_mapped", file.total_bytes());
  } else {
    row("weights", uploaded);
  }
  if (!plan.gathered.empty()) row("weights_gathered", gathered);
  row("weights_expanded", expanded);
  row("kv", kv);
  if (!plan.states.empty()) row("state", state);
  row("activations", ActivationBytes(plan.sizes));
  row("logits", LogitBytes(plan.sizes));
  row("scratch", static_cast<std::uint64_t>(plan.sizes.threads) *
                     Bytes(plan.sizes.scratch_floats, sizeof(float)));
  return plan;
}

Status CheckFits(const EnginePlan& plan, const DeviceInfo& device) {
  const MemoryFact usable = device.memory_usable();
  if (!usable.bytes) return {};
  std::uint64_t left = *usable.bytes;
  for (const MemoryRow& row : plan.rows) {
    if (row.row == "weights_mapped") continue;  // pages of the file: read again when room is short
    if (row.predicted_bytes > left) {
      return NoMemoryError("memory row \"" + row.row + "\" on device " + device.id + ": needs " +
                           std::to_string(row.predicted_bytes) + " bytes, " + std::to_string(left) +
                           " are left (" + usable.source + "); " +
                           (row.row.starts_with("weights")
                                ? "use a smaller model, or a device with more memory"
                                : "lower --ctx, --sequences or --ubatch, or use a smaller "
                                  "--kv-type"));
    }
    left -= row.predicted_bytes;
  }
  return {};
}

Result<DeviceInfo> ChooseDevice(const EngineOptions& options) {
  if (options.device == "cpu") {
    DeviceInfo device = ProbeCpu();
    if (options.isa.empty()) return device;
    return LimitIsa(std::move(device), options.isa);
  }
  if (!options.isa.empty()) {
    return InvalidError("isa " + options.isa + ": has an effect only on device cpu, not on " +
                        options.device);
  }
  return FindDevice(ProbeMachine({.sim = options.sim}), options.device);
}

Result<std::vector<MemoryRow>> PlanMemory(const GgufFile& file, const ModelSpec& spec,
                                          const EngineOptions& options) {
  VT_ASSIGN_OR_RETURN(const DeviceInfo device, ChooseDevice(options));
  VT_ASSIGN_OR_RETURN(EnginePlan plan, MakePlan(file, spec, options, device));
  return plan.rows;
}

}  // namespace vt
