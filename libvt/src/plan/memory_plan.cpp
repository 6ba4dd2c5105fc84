#include "plan/memory_plan.h"

#include <algorithm>

#include "base/arena.h"
#include "ops/args.h"

namespace vt {
namespace {

std::uint64_t Bytes(std::int64_t count, std::uint64_t element) {
  return AlignUp(static_cast<std::uint64_t>(count) * element);
}

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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

Status PlanKv(const ModelSpec& spec, EnginePlan& plan) {
  const EngineOptions& options = plan.options;
  const std::int64_t all_pages = CeilDiv(static_cast<std::int64_t>(options.context), kPageCells);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    if (options.kv_type == DType::kQ8_0 && (layer.key_dim % 32 != 0 || layer.value_dim % 32 != 0)) {
      return UnsupportedError("kv type q8_0: head sizes must be multiples of 32 (layer " +
                              std::to_string(i) + " has " + std::to_string(layer.key_dim) +
                              " and " + std::to_string(layer.value_dim) + "); use f16");
    }
    auto group = std::find_if(plan.groups.begin(), plan.groups.end(),
                              [&](const KvGroup& g) { return g.window == layer.window; });
    if (group == plan.groups.end()) {
      std::int64_t pages = all_pages * options.sequences;
      if (layer.window > 0) {
        // Per sequence: the window, a page cut at each end; and the step's new tokens between them
        // all.
        const std::int64_t windowed = options.sequences * (CeilDiv(layer.window, kPageCells) + 2) +
                                      options.ubatch / kPageCells;
        pages = std::min(pages, windowed);
      }
      plan.groups.push_back({layer.window, {}, pages});
      group = plan.groups.end() - 1;
    }
    group->layers.push_back(static_cast<int>(i));
    plan.kv.push_back(
        {RowBytes(options.kv_type, static_cast<std::uint64_t>(layer.kv_heads * layer.key_dim)),
         RowBytes(options.kv_type, static_cast<std::uint64_t>(layer.kv_heads * layer.value_dim)),
         static_cast<int>(group - plan.groups.begin())});
  }
  return {};
}

StepSizes MeasureStep(const ModelSpec& spec, const EnginePlan& plan) {
  StepSizes s;
  s.tokens = plan.options.ubatch;
  s.logit_rows = plan.options.logit_rows;
  s.width = spec.width;
  s.vocab = spec.vocab;
  s.threads = plan.options.threads;
  s.groups = static_cast<std::int64_t>(plan.groups.size());
  std::int64_t widest_input = spec.width;
  for (const LayerSpec& layer : spec.layers) {
    s.q = std::max(s.q, layer.heads * layer.key_dim);
    s.k = std::max(s.k, layer.kv_heads * layer.key_dim);
    s.v = std::max(s.v, layer.kv_heads * layer.value_dim);
    s.attention = std::max(s.attention, layer.heads * layer.value_dim);
    s.ffn = std::max(s.ffn, layer.ffn_width);
    widest_input = std::max({widest_input, layer.heads * layer.value_dim, layer.ffn_width});
    const auto context = static_cast<std::int64_t>(plan.options.context);
    const std::int64_t visible = layer.window > 0 ? std::min(layer.window, context) : context;
    s.scratch_floats =
        std::max(s.scratch_floats, AttentionScratchFloats(layer.heads, layer.kv_heads, visible));
  }
  s.quantized = CeilDiv(widest_input, kQ15Group) * kQ15Group;
  for (const RopeSpec& rope : spec.ropes) s.rope_values += rope.dims;
  return s;
}

std::uint64_t ActivationBytes(const StepSizes& s) {
  std::uint64_t total = 0;
  for (std::int64_t columns :
       {s.width, s.width, s.width, s.q, s.k, s.v, s.attention, s.ffn, s.ffn}) {
    total += Bytes(s.tokens * columns, sizeof(float));
  }
  total += 2 * Bytes(s.tokens * s.quantized, 1);                // Q15Rows::high, low
  total += 2 * Bytes(s.tokens * (s.quantized / kQ15Group), 4);  // scales, sums
  total += Bytes(s.tokens * s.rope_values, sizeof(float));
  total += 2 * Bytes(s.tokens, sizeof(std::int32_t));         // ids, positions
  total += s.groups * Bytes(s.tokens, sizeof(std::int32_t));  // slots
  total += s.groups * Bytes(s.tokens, sizeof(AttentionRow));
  return total;
}

std::uint64_t LogitBytes(const StepSizes& s) {
  return Bytes(s.logit_rows, sizeof(std::int32_t)) + Bytes(s.logit_rows * s.width, sizeof(float)) +
         Bytes(s.logit_rows * s.vocab, sizeof(float));
}

// Calls visit for every norm and projection, absent ones too.
template <class Visit>
void ForEachLinear(const ModelSpec& spec, Visit visit) {
  visit(spec.output_norm);
  visit(spec.output);
  for (const LayerSpec& layer : spec.layers) {
    for (const LinearRef* linear :
         {&layer.attn_norm, &layer.q_norm, &layer.k_norm, &layer.attn_post_norm, &layer.ffn_norm,
          &layer.ffn_post_norm, &layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up,
          &layer.down}) {
      visit(*linear);
    }
  }
}

// Norm weights and biases are read as f32.
void PlanExpanded(const GgufFile& file, const ModelSpec& spec, EnginePlan& plan) {
  const auto add = [&](const WeightRef& ref) {
    if (!ref || file.tensors()[static_cast<std::size_t>(ref.tensor)].type == DType::kF32) return;
    plan.expanded.push_back({ref, Bytes(ref.rows * ref.cols, sizeof(float))});
  };
  const auto add_norm = [&](const LinearRef& norm) {
    add(norm.weight);
    add(norm.bias);
  };
  add_norm(spec.output_norm);
  add(spec.output.bias);
  for (const LayerSpec& layer : spec.layers) {
    for (const LinearRef* norm : {&layer.attn_norm, &layer.q_norm, &layer.k_norm,
                                  &layer.attn_post_norm, &layer.ffn_norm, &layer.ffn_post_norm}) {
      add_norm(*norm);
    }
    for (const LinearRef* linear :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      add(linear->bias);
    }
  }
}

// Every tensor that the decoder reads, once, in file order.
void PlanUploads(const GgufFile& file, const ModelSpec& spec, EnginePlan& plan) {
  std::vector<bool> wanted(file.tensors().size());
  const auto want = [&](const WeightRef& ref) {
    if (ref) wanted[static_cast<std::size_t>(ref.tensor)] = true;
  };
  want(spec.embedding);
  want(spec.position_embedding);
  ForEachLinear(spec, [&](const LinearRef& linear) {
    want(linear.weight);
    want(linear.bias);
  });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) {
      plan.uploaded.push_back({static_cast<int>(i), AlignUp(file.tensors()[i].bytes)});
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
  PlanExpanded(file, spec, plan);
  const bool on_host = device.kind == DeviceKind::kCpu;
  if (!on_host) PlanUploads(file, spec, plan);

  std::uint64_t uploaded = 0;
  for (const UploadedTensor& tensor : plan.uploaded) uploaded += tensor.bytes;
  std::uint64_t expanded = 0;
  for (const ExpandedWeight& weight : plan.expanded) expanded += weight.bytes;
  std::uint64_t kv = 0;
  for (const KvLayerBytes& layer : plan.kv) {
    const std::int64_t cells =
        plan.groups[static_cast<std::size_t>(layer.group)].pages * kPageCells;
    kv += Bytes(cells, layer.key_cell) + Bytes(cells, layer.value_cell);
  }
  const auto row = [&](const char* name, std::uint64_t bytes) {
    plan.rows.push_back({device.id, name, bytes, 0});
  };
  if (on_host) {
    row("weights_mapped", file.total_bytes());
  } else {
    row("weights", uploaded);
  }
  row("weights_expanded", expanded);
  row("kv", kv);
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
