#include "vt/engine.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "device/device_memory.h"
#include "engine/expert_slots.h"
#include "engine/forward.h"
#include "engine/held_memory.h"
#include "engine/kv_cache.h"
#include "engine/op_runner.h"
#include "engine/op_walk.h"
#include "engine/row_arena.h"
#include "engine/state_cache.h"
#include "engine/step_buffers.h"
#include "engine/weights.h"
#include "gpu/stream.h"
#include "ops/resolve.h"
#include "plan/memory_plan.h"

namespace vt {
namespace {

Result<ResolveOptions> MakeResolveOptions(const EngineOptions& options) {
  ResolveOptions resolve;
  VT_ASSIGN_OR_RETURN(resolve.lowest, ParseTier(options.lowest_tier));
  for (const auto& forced : options.forced_kernels) {
    const std::string& op = forced.first;
    const std::string& kernel = forced.second;
    bool op_known = false;
    bool kernel_known = false;
    std::string names;
    BuiltinKernels().ForEach([&](std::string_view row_op, const auto& row) {
      if (row_op != op) return;
      op_known = true;
      kernel_known |= row.name == kernel;
      names += (names.empty() ? "" : ", ") + row.name;
    });
    if (!op_known) {
      return InvalidError("op \"" + op + "\": not known; see --explain for the ops of a model");
    }
    if (!kernel_known) {
      return InvalidError("kernel \"" + kernel + "\" of op " + op + ": not known (known: " + names +
                          ")");
    }
    resolve.forced.emplace(op, kernel);
  }
  return resolve;
}

// Reads a byte of every page that the host's kernels will read in the mapping, so that the first
// step does not wait for the disk.
Status TouchWeights(const GgufFile& file, const EnginePlan& plan, const LoadControl& control) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kReport = 4u << 20;
  const std::uint64_t total = plan.RowBytes(kHostDevice, "weights.kept");
  std::uint64_t done = 0;
  std::uint64_t reported = 0;
  for (const DevicePlan& device : plan.devices) {
    for (const KeptTensor& tensor : device.mapped) {
      if (control.cancel && control.cancel->load(std::memory_order_relaxed)) {
        return {Code::kInterrupted, "interrupted"};
      }
      const std::byte* data = file.Data(file.tensors()[static_cast<std::size_t>(tensor.tensor)]);
      for (std::uint64_t at = 0; at < tensor.bytes; at += kPage) {
        static_cast<void>(*static_cast<const volatile std::byte*>(data + at));
        if (done + at < reported + kReport) continue;
        reported = done + at;
        if (control.cancel && control.cancel->load(std::memory_order_relaxed)) {
          return {Code::kInterrupted, "interrupted"};
        }
        if (control.progress) control.progress(reported, total);
      }
      done += tensor.bytes;
    }
  }
  if (control.progress && total > 0) control.progress(total, total);
  return {};
}

}  // namespace

struct Engine::Impl {
  // A device that the placement uses; the others of the plan stay empty.
  struct Side {
    std::unique_ptr<HeldMemory> memory;  // outlives all that follows
    std::unique_ptr<GpuStream> stream;   // null on the CPU
    std::optional<ModelWeights> weights;
    std::unique_ptr<ExpertSlots> slots;  // null where there are none
    StepBuffers buffers;
    std::unique_ptr<OpRunner> ops;
    bool lost = false;  // waiting for its queue failed once
    void Observed(bool done) {
      lost = lost || !done;
      if (slots) slots->Observed(done);
    }
  };

  ModelSpec spec;
  EnginePlan plan;
  std::unique_ptr<DeviceMemory> host_memory;  // of what is staged
  Arena staging;
  std::vector<Side> sides;  // as the plan's devices
  std::unique_ptr<KvCache> cache;
  StateCache states;
  std::unique_ptr<ThreadPool> pool;
  struct OpenSequence {
    KvCache::Sequence kv;
    std::int32_t state_slot = 0;
  };
  std::map<SequenceId, OpenSequence> sequences;
  SequenceId next_sequence = 0;

  ForwardContext Context();
  StepBuffers& OutputBuffers();
  Status Guard(const GgufFile& file, const ResolveOptions& resolve);
  Status Allocate();
  Status LoadWeights(const GgufFile& file, const LoadControl& control);
  void CountRows();
  void Retire();
  Status CheckStep(std::span<const StepTokens> entries, std::int64_t* rows) const;
  Status TakePart(std::span<const std::size_t> done, std::span<StepTokens> part,
                  std::int64_t* rows);
  Status EmitLogits(std::span<const StepTokens> entries, std::span<const std::size_t> before,
                    std::span<const StepTokens> whole, const LogitSink& sink);
  Status RunStep(std::span<const StepTokens> entries, std::span<const std::size_t> before,
                 std::span<const StepTokens> whole, const LogitSink& sink);
};

Engine::Engine() : impl_(std::make_unique<Impl>()) {}
Engine::~Engine() { impl_->Retire(); }

// What a device may still be reading is not freed: its queue is waited for, and where that fails
// (or failed before) its memory stays.
void Engine::Impl::Retire() {
  for (Side& side : sides) {
    if (!side.memory) continue;
    if (side.stream && !side.stream->Synchronize().ok()) side.lost = true;
    if (side.lost) side.memory->Quarantine();
  }
}

ForwardContext Engine::Impl::Context() {
  ForwardContext context{.spec = spec,
                         .plan = plan,
                         .sides = {},
                         .cache = cache.get(),
                         .states = &states,
                         .staging = staging.data()};
  for (Side& side : sides) {
    context.sides.push_back({side.weights ? &*side.weights : nullptr, &side.buffers, side.ops.get(),
                             side.memory.get(), side.slots.get()});
  }
  return context;
}

// Of the device whose logits the host reads.
StepBuffers& Engine::Impl::OutputBuffers() {
  const auto tensor = static_cast<std::size_t>(spec.output.weight.tensor);
  return sides[static_cast<std::size_t>(plan.placement.tensors[tensor])].buffers;
}

// What the model needs and cannot have here is refused before anything is allocated.
Status Engine::Impl::Guard(const GgufFile& file, const ResolveOptions& resolve) {
  VT_ASSIGN_OR_RETURN(const OpWalk walk, WalkOps(file, spec, plan));
  for (const NeededOp& op : walk.ops) {
    const DeviceInfo& device = plan.devices[static_cast<std::size_t>(op.device)].device;
    const Status found = ResolveAll(BuiltinKernels(), device, {&op.call, 1}, resolve);
    if (!found.ok()) return found.Annotate(PlaceOf(op));
  }
  return {};
}

Status Engine::Impl::Allocate() {
  std::vector<DeviceMemory*> memories;
  sides.resize(plan.devices.size());
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const DeviceInfo& device = plan.devices[i].device;
    memories.push_back(nullptr);
    if (!plan.devices[i].used) continue;
    VT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, OpenDeviceMemory(device));
    sides[i].memory = std::make_unique<HeldMemory>(std::move(memory));
    memories.back() = sides[i].memory.get();
    if (device.kind == DeviceKind::kCpu) continue;
    VT_ASSIGN_OR_RETURN(sides[i].stream, OpenGpuStream(device));
  }
  if (plan.RowBytes("staging") > 0) {
    VT_ASSIGN_OR_RETURN(host_memory, OpenDeviceMemory(ProbeCpu()));
    VT_ASSIGN_OR_RETURN(staging, RowArena(plan, std::string(kHostDevice), "staging", *host_memory));
    static_cast<void>(staging.Take(staging.capacity()));
  }
  VT_ASSIGN_OR_RETURN(KvCache made, KvCache::Create(plan, memories));
  cache = std::make_unique<KvCache>(std::move(made));
  VT_ASSIGN_OR_RETURN(states, StateCache::Create(plan, memories));
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (!memories[i]) continue;
    VT_ASSIGN_OR_RETURN(sides[i].buffers,
                        StepBuffers::Create(plan, plan.devices[i], spec, *memories[i]));
  }
  return {};
}

Status Engine::Impl::LoadWeights(const GgufFile& file, const LoadControl& control) {
  VT_RETURN_IF_ERROR(TouchWeights(file, plan, control));
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (!sides[i].memory) continue;
    VT_ASSIGN_OR_RETURN(sides[i].weights, ModelWeights::Load(file, spec, plan, plan.devices[i],
                                                             *sides[i].memory, control.cancel));
    VT_ASSIGN_OR_RETURN(sides[i].slots,
                        ExpertSlots::Load(file, plan, plan.devices[i], *sides[i].memory,
                                          *sides[i].weights, control.cancel));
  }
  return {};
}

void Engine::Impl::CountRows() {
  for (MemoryRow& row : plan.rows) {
    if (row.row == "staging") row.allocated_bytes = staging.taken();
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const Side& side = sides[i];
      if (row.row == kStreamedRow && side.slots) row.allocated_bytes += side.slots->mapped_bytes();
      if (plan.devices[i].device.id != row.device) continue;
      if (row.row == "staging" || row.row == kStreamedRow) continue;
      const std::uint64_t kv = cache->allocated_bytes(i, row.row);
      row.allocated_bytes = row.row == "weights.kept"
                                ? side.weights->mapped_bytes() + side.weights->uploaded_bytes()
                            : row.row == "weights.gathered" ? side.weights->gathered_bytes()
                            : row.row == "weights.expanded" ? side.weights->expanded_bytes()
                            : row.row == kSlotsRow          ? side.slots->slot_bytes()
                            : row.row == "kv.state"         ? states.allocated_bytes(i)
                            : row.row == "activations"      ? side.buffers.activations.taken()
                            : row.row == "logits"           ? side.buffers.logits_arena.taken()
                            : row.row == "scratch"          ? side.buffers.scratch_arena.taken()
                                                            : kv;
    }
  }
}

Result<std::unique_ptr<Engine>> Engine::Load(const GgufFile& file, const ModelSpec& spec,
                                             const EngineOptions& options,
                                             const LoadControl& control) {
  std::unique_ptr<Engine> engine(new Engine);
  Impl& impl = *engine->impl_;
  impl.spec = spec;
  VT_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, ChooseDevices(options));
  VT_ASSIGN_OR_RETURN(const ResolveOptions resolve, MakeResolveOptions(options));
  VT_ASSIGN_OR_RETURN(impl.plan, MakePlan(file, spec, options, devices));
  VT_RETURN_IF_ERROR(impl.Guard(file, resolve));
  VT_RETURN_IF_ERROR(CheckFits(impl.plan));
  VT_RETURN_IF_ERROR(impl.Allocate());
  VT_RETURN_IF_ERROR(impl.LoadWeights(file, control));
  impl.pool = std::make_unique<ThreadPool>(impl.plan.options.threads);
  for (std::size_t i = 0; i < impl.sides.size(); ++i) {
    Impl::Side& side = impl.sides[i];
    if (!side.memory) continue;
    side.ops = std::make_unique<OpRunner>(
        OpRunner::Setup{.registry = BuiltinKernels(),
                        .device = impl.plan.devices[i].device,
                        .resolve = resolve,
                        .pool = impl.pool.get(),
                        .stream = side.stream.get(),
                        .check = options.check,
                        .on_op = options.on_op,
                        .on_wait = [&side](bool done) { side.Observed(done); }});
    side.ops->set_cancel(control.cancel);
  }
  impl.CountRows();
  return engine;
}

const ModelSpec& Engine::spec() const { return impl_->spec; }
const EngineOptions& Engine::options() const { return impl_->plan.options; }
const DeviceInfo& Engine::device() const {
  return impl_->plan.devices[static_cast<std::size_t>(impl_->plan.placement.output)].device;
}
std::vector<const DeviceInfo*> Engine::devices() const {
  std::vector<const DeviceInfo*> used;
  for (const DevicePlan& device : impl_->plan.devices) {
    if (device.used) used.push_back(&device.device);
  }
  return used;
}
std::vector<MemoryRow> Engine::Memory() const { return impl_->plan.rows; }
std::vector<DevicePeak> Engine::TakePeaks() {
  std::vector<DevicePeak> peaks;
  for (std::size_t i = 0; i < impl_->sides.size(); ++i) {
    const DevicePlan& device = impl_->plan.devices[i];
    if (!impl_->sides[i].memory || device.host()) continue;
    peaks.push_back({device.device.id, impl_->sides[i].memory->TakePeak()});
  }
  return peaks;
}
std::vector<ExpertSlotCounts> Engine::SlotCounts() const {
  std::vector<ExpertSlotCounts> all;
  for (std::size_t i = 0; i < impl_->sides.size(); ++i) {
    const Impl::Side& side = impl_->sides[i];
    if (!side.slots) continue;
    all.push_back(side.slots->counts());
    all.back().device = impl_->plan.devices[i].device.id;
  }
  return all;
}
std::vector<KernelLaunches> Engine::Launches() const {
  std::vector<KernelLaunches> all;
  for (const Impl::Side& side : impl_->sides) {
    if (!side.ops) continue;
    const std::vector<KernelLaunches> launches = side.ops->Launches();
    all.insert(all.end(), launches.begin(), launches.end());
  }
  return all;
}

Result<SequenceId> Engine::Open(std::span<const TokenId> prompt, std::size_t* reused) {
  if (static_cast<std::int64_t>(impl_->sequences.size()) >= impl_->plan.options.sequences) {
    return InvalidError("sequences: " + std::to_string(impl_->plan.options.sequences) +
                        " are open already");
  }
  // Pages hold no recurrent state: a prefix of a model that has some is computed anew.
  const bool reuse = impl_->plan.options.prefix_reuse && impl_->states.empty();
  VT_ASSIGN_OR_RETURN(const std::int32_t slot, impl_->states.Open());
  Impl::OpenSequence sequence{impl_->cache->Open(prompt, reuse), slot};
  if (reused) *reused = sequence.kv.tokens.size();
  const SequenceId id = impl_->next_sequence++;
  impl_->sequences.emplace(id, std::move(sequence));
  return id;
}

void Engine::Close(SequenceId sequence) {
  const auto found = impl_->sequences.find(sequence);
  if (found == impl_->sequences.end()) return;
  impl_->cache->Close(found->second.kv);
  impl_->states.Close(found->second.state_slot);
  impl_->sequences.erase(found);
}

std::size_t Engine::Length(SequenceId sequence) const {
  const auto found = impl_->sequences.find(sequence);
  return found == impl_->sequences.end() ? 0 : found->second.kv.tokens.size();
}

Status Engine::Truncate(SequenceId sequence, std::size_t length) {
  const auto found = impl_->sequences.find(sequence);
  if (found == impl_->sequences.end()) {
    return InternalError("truncate: sequence " + std::to_string(sequence) + " is not open");
  }
  if (impl_->spec.recurs() && length < found->second.kv.tokens.size()) {
    return UnsupportedError("architecture \"" + impl_->spec.architecture +
                            "\": its recurrent state cannot take tokens back");
  }
  KvCache::Sequence& kv = found->second.kv;
  VT_RETURN_IF_ERROR(impl_->cache->Truncate(kv, length));
  impl_->cache->Publish(kv);
  return {};
}

Status Engine::Impl::CheckStep(std::span<const StepTokens> entries, std::int64_t* rows) const {
  *rows = 0;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const StepTokens& entry = entries[e];
    const auto found = sequences.find(entry.sequence);
    if (found == sequences.end())
      return InternalError("step: sequence " + std::to_string(entry.sequence) + " is not open");
    for (std::size_t other = 0; other < e; ++other) {
      if (entries[other].sequence == entry.sequence)
        return InternalError("step: a sequence appears twice");
    }
    const std::uint64_t length = found->second.kv.tokens.size() + entry.tokens.size();
    if (length > plan.options.context) {
      return InvalidError("context: a sequence of " + std::to_string(length) +
                          " tokens exceeds the " + std::to_string(plan.options.context) +
                          " that were planned; raise --ctx");
    }
    for (const TokenId id : entry.tokens) {
      if (id < 0 || id >= spec.vocab) {
        return InvalidError("token id " + std::to_string(id) + ": outside the vocabulary (0 to " +
                            std::to_string(spec.vocab - 1) + ")");
      }
    }
    *rows += static_cast<std::int64_t>(entry.tokens.size());
  }
  if (*rows > plan.options.ubatch) {
    return InternalError("step: " + std::to_string(*rows) + " tokens exceed the ubatch of " +
                         std::to_string(plan.options.ubatch));
  }
  return {};
}

// Appends to their sequences as many of the entries' tokens as there are pages for, after those
// that are `done`: they are `part`, whose rows are filled in on every device.
Status Engine::Impl::TakePart(std::span<const std::size_t> done, std::span<StepTokens> part,
                              std::int64_t* rows) {
  std::size_t row = 0;
  for (std::size_t e = 0; e < part.size(); ++e) {
    StepTokens& entry = part[e];
    OpenSequence& open = sequences.at(entry.sequence);
    KvCache::Sequence& sequence = open.kv;
    const std::size_t begin = sequence.tokens.size();
    const std::span<const TokenId> left = entry.tokens.subspan(done[e]);
    const std::size_t room = cache->Room(sequence, left.size());
    // With no room at all for the step's first tokens, the cache says so.
    entry.tokens = left.first(room == 0 && row == 0 ? std::min<std::size_t>(1, left.size()) : room);
    VT_RETURN_IF_ERROR(cache->Append(sequence, entry.tokens));
    for (std::size_t t = 0; t < entry.tokens.size(); ++t, ++row) {
      const auto position = static_cast<std::int64_t>(begin + t);
      for (Side& side : sides) {
        if (!side.memory) continue;
        StepBuffers& b = side.buffers;
        b.ids[row] = entry.tokens[t];
        b.positions[row] = static_cast<std::int32_t>(position);
        if (b.state_rows) b.state_rows[row] = {open.state_slot, position == 0 ? 1 : 0};
        for (std::size_t g = 0; g < b.slots.size(); ++g) {
          const std::vector<std::int32_t>& pages = sequence.pages[g];
          const std::int64_t page = pages[static_cast<std::size_t>(position / kPageCells)];
          b.slots[g][row] = static_cast<std::int32_t>(page * kPageCells + position % kPageCells);
          b.attention_rows[g][row] = {pages.data(),
                                      static_cast<std::int32_t>(cache->FirstVisible(g, position)),
                                      static_cast<std::int32_t>(position)};
        }
      }
    }
  }
  *rows = static_cast<std::int64_t>(row);
  return {};
}

// `entries` are parts of the `whole` step's, of which `before` tokens each are done.
Status Engine::Impl::EmitLogits(std::span<const StepTokens> entries,
                                std::span<const std::size_t> before,
                                std::span<const StepTokens> whole, const LogitSink& sink) {
  struct Wanted {
    std::size_t entry, token;
    std::int32_t row;
  };
  std::vector<Wanted> wanted;
  std::int32_t row = 0;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    for (std::size_t t = 0; t < entries[e].tokens.size(); ++t, ++row) {
      const bool last = before[e] + t + 1 == whole[e].tokens.size();
      if (entries[e].all_logits || (last && entries[e].last_logits)) {
        wanted.push_back({e, before[e] + t, row});
      }
    }
  }
  const auto vocab = static_cast<std::size_t>(spec.vocab);
  const auto most = static_cast<std::size_t>(plan.options.logit_rows);
  std::int32_t* ids = sides[static_cast<std::size_t>(plan.placement.output)].buffers.logit_ids;
  const StepBuffers& buffers = OutputBuffers();
  for (std::size_t begin = 0; begin < wanted.size(); begin += most) {
    const std::size_t count = std::min(most, wanted.size() - begin);
    for (std::size_t i = 0; i < count; ++i) ids[i] = wanted[begin + i].row;
    VT_RETURN_IF_ERROR(ForwardLogits(Context(), static_cast<std::int64_t>(count)));
    for (Side& side : sides) {
      if (side.ops) VT_RETURN_IF_ERROR(side.ops->Synchronize());
    }
    for (std::size_t i = 0; i < count; ++i) {
      VT_RETURN_IF_ERROR(sink(wanted[begin + i].entry, wanted[begin + i].token,
                              std::span<const float>(buffers.logits + i * vocab, vocab)));
    }
  }
  return {};
}

Status Engine::Impl::RunStep(std::span<const StepTokens> entries,
                             std::span<const std::size_t> before, std::span<const StepTokens> whole,
                             const LogitSink& sink) {
  std::int64_t rows = 0;
  for (const StepTokens& entry : entries) rows += static_cast<std::int64_t>(entry.tokens.size());
  VT_RETURN_IF_ERROR(ForwardLayers(Context(), rows));
  for (const StepTokens& entry : entries) {
    if (!entry.tentative) cache->Publish(sequences.at(entry.sequence).kv);
  }
  return EmitLogits(entries, before, whole, sink);
}

Status Engine::Step(std::span<const StepTokens> entries, const LogitSink& sink) {
  std::int64_t rows = 0;
  VT_RETURN_IF_ERROR(impl_->CheckStep(entries, &rows));
  // Windows hold no more pages than most steps need: a step that is cut unfavourably by their
  // boundaries runs in parts.
  std::vector<std::size_t> done(entries.size());
  while (rows > 0) {
    std::vector<StepTokens> part(entries.begin(), entries.end());
    std::int64_t part_rows = 0;
    VT_RETURN_IF_ERROR(impl_->TakePart(done, part, &part_rows));
    VT_RETURN_IF_ERROR(impl_->RunStep(part, done, entries, sink));
    for (std::size_t e = 0; e < entries.size(); ++e) done[e] += part[e].tokens.size();
    rows -= part_rows;
  }
  return {};
}

}  // namespace vt
