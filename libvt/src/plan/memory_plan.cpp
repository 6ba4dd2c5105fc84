#include "plan/memory_plan.h"

#include <algorithm>
#include <map>

#include "base/arena.h"
#include "models/spec_weights.h"
#include "ops/args.h"
#include "plan/placement.h"
#include "plan/step_measure.h"

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

Status FillOptions(const ModelSpec& spec, int cores, EngineOptions& options) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (options.threads == 0) options.threads = cores;
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
  // Per sequence: the window, however it is cut into pages, and what may be taken back; and the
  // step's new tokens between them all. A step that would need a page more is run in two.
  const std::int64_t windowed = options.sequences * (CeilDiv(layer.window, kPageCells) + 1 +
                                                     CeilDiv(options.tentative, kPageCells)) +
                                std::max<std::int64_t>(1, options.ubatch / kPageCells - 1);
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
      bytes.row = layer.mixer == MixerKind::kLatent && !layer.latent.kv_b ? kKvLatent
                  : layer.window > 0                                      ? kKvWindow
                                                                          : kKvFull;
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

// The tensors that a device reads, and how.
struct TensorUse {
  std::vector<bool> matrices;
  std::vector<bool> floats;
  std::map<std::size_t, WeightRef> scaled = {};  // matrices with scales, by tensor
};

// Whether the weights that are read there are held expert by expert.
bool InSlots(const Placement& placement, int layer, std::string_view place) {
  return layer >= 0 && PartOf(layer, place) == ModelPart::kExperts &&
         placement.layers[static_cast<std::size_t>(layer)].expert_slots > 0;
}

std::vector<TensorUse> UsesByDevice(const GgufFile& file, const ModelSpec& spec,
                                    const Placement& placement) {
  const std::size_t tensors = file.tensors().size();
  std::vector<TensorUse> uses(placement.devices.size(),
                              {std::vector<bool>(tensors), std::vector<bool>(tensors)});
  int matrix_device = 0;
  VisitWeights(spec, [&](int layer, const char* place, WeightUse use, const WeightRef& ref) {
    if (InSlots(placement, layer, place)) return;
    const auto tensor = static_cast<std::size_t>(ref.tensor);
    int device = matrix_device;  // of a bias: its matrix's
    if (use == WeightUse::kMatrix) device = matrix_device = placement.tensors[tensor];
    if (use == WeightUse::kFloats) device = DeviceOf(placement, PartOf(layer, place), layer);
    TensorUse& on = uses[static_cast<std::size_t>(device)];
    (use == WeightUse::kMatrix ? on.matrices : on.floats)[tensor] = true;
    if (ref.scales < 0) return;
    on.scaled.insert({tensor, ref});
    if (placement.held[tensor] != Held::kExpanded) {
      on.floats[static_cast<std::size_t>(ref.scales)] = true;
    }
  });
  return uses;
}

// Each tensor once, in file order.
void PlanWeights(const GgufFile& file, const Placement& placement, const TensorUse& use,
                 DevicePlan& plan) {
  for (std::size_t i = 0; i < use.floats.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const int index = static_cast<int>(i);
    const auto expand = [&](DType type) {
      const auto values = static_cast<std::int64_t>(tensor.cols() * tensor.rows());
      plan.expanded.push_back({index, type, Bytes(values, RowBytes(type, 1))});
    };
    const bool as_floats = use.floats[i] && tensor.type != DType::kF32;
    if (as_floats) expand(DType::kF32);
    const bool decoded = use.matrices[i] && placement.held[i] == Held::kExpanded;
    if (decoded) {
      expand(DType::kBF16);
      if (const auto found = use.scaled.find(i); found != use.scaled.end()) {
        plan.expanded.back().matrix = found->second;
      }
    }
    const bool whole = (use.matrices[i] && !decoded) || (use.floats[i] && !as_floats);
    if (!whole) continue;
    if (!plan.host()) {
      plan.uploaded.push_back({index, AlignUp(tensor.bytes)});
    } else if (file.Contiguous(tensor)) {
      plan.mapped.push_back({index, tensor.bytes});
    } else {
      plan.gathered.push_back({index, AlignUp(tensor.bytes)});
    }
  }
}

void PlanSlots(const GgufFile& file, const ModelSpec& spec, const Placement& placement, int index,
               DevicePlan& plan) {
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerPlacement& place = placement.layers[i];
    if (place.expert_slots == 0 || place.experts != index) continue;
    const MoeSpec& moe = spec.layers[i].moe;
    SlotLayer& layer = plan.slots.emplace_back();
    layer.layer = static_cast<int>(i);
    layer.experts = moe.experts;
    layer.slots = place.expert_slots;
    // Of a matrix that two products share, once.
    const auto add = [&](int tensor, bool floats) {
      const auto is = [&](const SlotTensor& one) { return one.tensor == tensor; };
      if (tensor < 0 || std::any_of(layer.tensors.begin(), layer.tensors.end(), is)) return;
      const GgufTensor& t = file.tensors()[static_cast<std::size_t>(tensor)];
      const auto experts = static_cast<std::uint64_t>(moe.experts);
      const std::uint64_t bytes = t.bytes / experts;
      const std::uint64_t values = t.cols() * t.rows() / experts;
      layer.tensors.push_back({tensor, floats, bytes, floats ? values * sizeof(float) : bytes});
    };
    for (const ExpertRef* ref : {&moe.gate, &moe.up, &moe.down}) {
      if (!*ref) continue;
      add(ref->weight.tensor, false);
      add(ref->bias.tensor, true);
      add(ref->weight.scales, true);
    }
  }
}

std::uint64_t SlotBytes(const DevicePlan& plan) {
  std::uint64_t bytes = 0;
  for (const SlotLayer& layer : plan.slots) {
    for (const SlotTensor& tensor : layer.tensors) bytes += layer.BytesOf(tensor);
  }
  return bytes;
}

std::uint64_t StreamedBytes(const EnginePlan& plan) {
  std::uint64_t bytes = 0;
  for (const DevicePlan& device : plan.devices) {
    for (const SlotLayer& layer : device.slots) {
      for (const SlotTensor& tensor : layer.tensors) {
        bytes += static_cast<std::uint64_t>(layer.experts) * tensor.file_bytes;
      }
    }
  }
  return bytes;
}

template <class Tensor>
std::uint64_t Sum(const std::vector<Tensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes;
  return bytes;
}

// Bytes of cells that a device holds, by the row they are in.
std::uint64_t KvBytes(const EnginePlan& plan, int device, std::string_view row) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < plan.kv.size(); ++i) {
    const KvLayerBytes& layer = plan.kv[i];
    if (layer.group < 0 || plan.MixerOf(static_cast<int>(i)) != device) continue;
    const std::int64_t cells =
        plan.groups[static_cast<std::size_t>(layer.group)].pages * kPageCells;
    if (row == kKvIndexer) bytes += Bytes(cells, layer.index_cell);
    if (row == layer.row) bytes += Bytes(cells, layer.key_cell) + Bytes(cells, layer.value_cell);
  }
  return bytes;
}

std::uint64_t StateBytes(const EnginePlan& plan, int device) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    if (plan.MixerOf(static_cast<int>(i)) != device) continue;
    bytes += Bytes(plan.options.sequences * plan.states[i].conv_floats, sizeof(float)) +
             Bytes(plan.options.sequences * plan.states[i].state_floats, sizeof(float));
  }
  return bytes;
}

void AddRows(EnginePlan& plan, int index) {
  const DevicePlan& device = plan.devices[static_cast<std::size_t>(index)];
  const auto row = [&](std::string_view name, std::uint64_t bytes, const char* how) {
    if (bytes > 0) plan.rows.push_back({device.device.id, std::string(name), bytes, 0, how});
  };
  row("weights.kept", device.host() ? Sum(device.mapped) : Sum(device.uploaded),
      device.host() ? "mapped" : "uploaded");
  row("weights.gathered", Sum(device.gathered), "copied");
  row("weights.expanded", Sum(device.expanded), "decoded");
  row(kSlotsRow, SlotBytes(device), "cached");
  for (const char* kv : kKvRows) row(kv, KvBytes(plan, index, kv), "allocated");
  row("kv.state", StateBytes(plan, index), "allocated");
  row("activations", ActivationBytes(device.sizes), "allocated");
  row("logits", LogitBytes(device.sizes), "allocated");
  row("scratch", ScratchBytes(device.sizes), "allocated");
}

Status CheckRows(const EnginePlan& plan, const DeviceInfo& device) {
  const MemoryFact usable = device.memory_usable();
  if (!usable.bytes) return {};
  std::uint64_t left = *usable.bytes;
  for (const MemoryRow& row : plan.rows) {
    // Pages of the file are read again when room is short.
    if (row.device != device.id || row.how == "mapped") continue;
    if (row.predicted_bytes > left) {
      return NoMemoryError("memory row \"" + row.row + "\" on device " + device.id + ": needs " +
                           std::to_string(row.predicted_bytes) + " bytes, " + std::to_string(left) +
                           " are left (" + usable.source + "); " +
                           (row.row.starts_with("weights")
                                ? "use a smaller model, a device with more memory, or several "
                                  "(vt-place)"
                                : "lower --ctx, --sequences or --ubatch, or use a smaller "
                                  "--kv-type"));
    }
    left -= row.predicted_bytes;
  }
  return {};
}

}  // namespace

std::uint64_t SlotLayer::BytesOf(const SlotTensor& tensor) const {
  return AlignUp(static_cast<std::uint64_t>(slots) * tensor.bytes);
}

std::uint64_t SlotLayer::expert_bytes() const {
  std::uint64_t bytes = 0;
  for (const SlotTensor& tensor : tensors) bytes += tensor.bytes;
  return bytes;
}

std::uint64_t EnginePlan::RowBytes(std::string_view name) const {
  std::uint64_t bytes = 0;
  for (const MemoryRow& row : rows) bytes += row.row == name ? row.predicted_bytes : 0;
  return bytes;
}

std::uint64_t EnginePlan::RowBytes(std::string_view device, std::string_view name) const {
  std::uint64_t bytes = 0;
  for (const MemoryRow& row : rows) {
    if (row.device == device && row.row == name) bytes += row.predicted_bytes;
  }
  return bytes;
}

Result<EnginePlan> MakePlan(const GgufFile& file, const ModelSpec& spec,
                            const EngineOptions& options, const std::vector<DeviceInfo>& devices) {
  EnginePlan plan;
  plan.options = options;
  plan.placement =
      options.placement ? *options.placement : WholePlacement(file, spec, devices.front().id);
  VT_RETURN_IF_ERROR(CheckPlacement(file, spec, plan.placement));
  int cores = 1;
  for (const DeviceInfo& device : devices) cores = std::max(cores, device.cores);
  VT_RETURN_IF_ERROR(FillOptions(spec, cores, plan.options));
  VT_RETURN_IF_ERROR(PlanKv(spec, plan));
  PlanStates(spec, plan);
  const std::vector<PartSet> parts = PartsByDevice(spec, plan.placement);
  const std::vector<TensorUse> uses = UsesByDevice(file, spec, plan.placement);
  int accelerators = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DevicePlan& device = plan.devices.emplace_back();
    device.device = devices[i];
    device.used = parts[i].any();
    device.sizes = MeasureStep(spec, plan, parts[i]);
    PlanWeights(file, plan.placement, uses[i], device);
    PlanSlots(file, spec, plan.placement, static_cast<int>(i), device);
    if (device.used && !device.host()) ++accelerators;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) AddRows(plan, static_cast<int>(i));
  if (accelerators > 1) {
    plan.rows.push_back({std::string(kHostDevice), "staging", kStagingBytes, 0, "allocated"});
  }
  if (const std::uint64_t streamed = StreamedBytes(plan); streamed > 0) {
    plan.rows.push_back({std::string(kHostDevice), kStreamedRow, streamed, 0, "mapped"});
  }
  return plan;
}

Status CheckFits(const EnginePlan& plan, const DeviceInfo& device) {
  return CheckRows(plan, device);
}

Status CheckFits(const EnginePlan& plan) {
  for (const DevicePlan& device : plan.devices) {
    if (device.used) VT_RETURN_IF_ERROR(CheckRows(plan, device.device));
  }
  return {};
}

Result<std::vector<DeviceInfo>> ChooseDevices(const EngineOptions& options) {
  const std::vector<std::string> ids =
      options.placement ? options.placement->devices : std::vector<std::string>{options.device};
  const bool host = std::find(ids.begin(), ids.end(), kHostDevice) != ids.end();
  if (!options.isa.empty() && !host) {
    return InvalidError("isa " + options.isa + ": has an effect only on device cpu, not on " +
                        ids.front());
  }
  // The cpu alone is probed without a look for others.
  const bool only_host = host && ids.size() == 1;
  const Machine machine = only_host ? Machine() : ProbeMachine({.sims = options.sims});
  std::vector<DeviceInfo> devices;
  for (const std::string& id : ids) {
    if (id != kHostDevice) {
      VT_ASSIGN_OR_RETURN(DeviceInfo device, FindDevice(machine, id));
      devices.push_back(std::move(device));
      continue;
    }
    devices.push_back(ProbeCpu());
    if (options.isa.empty()) continue;
    VT_ASSIGN_OR_RETURN(devices.back(), LimitIsa(std::move(devices.back()), options.isa));
  }
  return devices;
}

Result<std::vector<MemoryRow>> PlanMemory(const GgufFile& file, const ModelSpec& spec,
                                          const EngineOptions& options) {
  VT_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, ChooseDevices(options));
  VT_ASSIGN_OR_RETURN(EnginePlan plan, MakePlan(file, spec, options, devices));
  return std::move(plan.rows);
}

}  // namespace vt
