#include "vt/engine.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "device/device_memory.h"
#include "engine/forward.h"
#include "engine/kv_cache.h"
#include "engine/op_runner.h"
#include "engine/op_walk.h"
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

// Reads a byte of every page of the mapping, so that the first step does not wait for the disk.
Status TouchWeights(const GgufFile& file, const LoadControl& control) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kReport = 4u << 20;
  const std::uint64_t total = file.total_bytes();
  std::uint64_t done = 0;
  for (const GgufShard& shard : file.shards()) {
    for (std::uint64_t at = 0; at < shard.file_bytes; at += kPage, done += kPage) {
      static_cast<void>(*static_cast<const volatile std::byte*>(shard.base + at));
      if (done % kReport != 0) continue;
      if (control.cancel && control.cancel->load(std::memory_order_relaxed)) {
        return {Code::kInterrupted, "interrupted"};
      }
      if (control.progress) control.progress(std::min(done, total), total);
    }
  }
  if (control.progress) control.progress(total, total);
  return {};
}

}  // namespace

struct Engine::Impl {
  ModelSpec spec;
  DeviceInfo device;
  EnginePlan plan;
  std::unique_ptr<DeviceMemory> memory;  // outlives all that follows
  std::unique_ptr<GpuStream> stream;     // null on the CPU
  std::optional<ModelWeights> weights;
  StepBuffers buffers;
  std::unique_ptr<KvCache> cache;
  StateCache states;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<OpRunner> ops;
  struct OpenSequence {
    KvCache::Sequence kv;
    std::int32_t state_slot = 0;
  };
  std::map<SequenceId, OpenSequence> sequences;
  SequenceId next_sequence = 0;

  ForwardContext Context() { return {spec, plan, *weights, buffers, cache.get(), &states}; }
  Status Guard(const GgufFile& file, const ResolveOptions& resolve);
  Status CheckStep(std::span<const StepTokens> entries, std::int64_t* rows) const;
  Status FillRows(std::span<const StepTokens> entries);
  Status EmitLogits(std::span<const StepTokens> entries, const LogitSink& sink);
};

Engine::Engine() : impl_(std::make_unique<Impl>()) {}
Engine::~Engine() = default;

// What the model needs and cannot have here is refused before anything is allocated.
Status Engine::Impl::Guard(const GgufFile& file, const ResolveOptions& resolve) {
  VT_ASSIGN_OR_RETURN(const std::vector<NeededOp> needed, WalkOps(file, spec, plan, device.kind));
  for (const NeededOp& op : needed) {
    const Status found = ResolveAll(BuiltinKernels(), device, {&op.call, 1}, resolve);
    if (!found.ok()) return found.Annotate(PlaceOf(op));
  }
  return {};
}

Result<std::unique_ptr<Engine>> Engine::Load(const GgufFile& file, const ModelSpec& spec,
                                             const EngineOptions& options,
                                             const LoadControl& control) {
  std::unique_ptr<Engine> engine(new Engine);
  Impl& impl = *engine->impl_;
  impl.spec = spec;
  VT_ASSIGN_OR_RETURN(impl.device, ChooseDevice(options));
  VT_ASSIGN_OR_RETURN(const ResolveOptions resolve, MakeResolveOptions(options));
  VT_ASSIGN_OR_RETURN(impl.plan, MakePlan(file, spec, options, impl.device));
  VT_RETURN_IF_ERROR(impl.Guard(file, resolve));
  VT_RETURN_IF_ERROR(CheckFits(impl.plan, impl.device));

  VT_ASSIGN_OR_RETURN(impl.memory, OpenDeviceMemory(impl.device));
  if (impl.device.kind != DeviceKind::kCpu) {
    VT_ASSIGN_OR_RETURN(impl.stream, OpenGpuStream(impl.device));
  }
  VT_ASSIGN_OR_RETURN(KvCache cache, KvCache::Create(impl.plan, *impl.memory));
  impl.cache = std::make_unique<KvCache>(std::move(cache));
  VT_ASSIGN_OR_RETURN(impl.states, StateCache::Create(impl.plan, *impl.memory));
  VT_ASSIGN_OR_RETURN(impl.buffers, StepBuffers::Create(impl.plan, spec, *impl.memory));
  VT_RETURN_IF_ERROR(TouchWeights(file, control));
  VT_ASSIGN_OR_RETURN(impl.weights,
                      ModelWeights::Load(file, spec, impl.plan, *impl.memory, control.cancel));
  impl.pool = std::make_unique<ThreadPool>(impl.plan.options.threads);
  impl.ops = std::make_unique<OpRunner>(OpRunner::Setup{.registry = BuiltinKernels(),
                                                        .device = impl.device,
                                                        .resolve = resolve,
                                                        .pool = impl.pool.get(),
                                                        .stream = impl.stream.get(),
                                                        .check = options.check,
                                                        .on_op = options.on_op});
  impl.ops->set_cancel(control.cancel);

  const auto allocated = [&](std::string_view row) -> std::uint64_t {
    if (row == "weights_mapped") return file.total_bytes();
    if (row == "weights") return impl.weights->uploaded_bytes();
    if (row == "weights_gathered") return impl.weights->gathered_bytes();
    if (row == "weights_expanded") return impl.weights->expanded_bytes();
    if (row == "state") return impl.states.allocated_bytes();
    if (row == "kv") return impl.cache->allocated_bytes();
    if (row == "activations") return impl.buffers.activations.taken();
    if (row == "logits") return impl.buffers.logits_arena.taken();
    return impl.buffers.scratch_arena.taken();
  };
  for (MemoryRow& row : impl.plan.rows) row.allocated_bytes = allocated(row.row);
  return engine;
}

const ModelSpec& Engine::spec() const { return impl_->spec; }
const EngineOptions& Engine::options() const { return impl_->plan.options; }
const DeviceInfo& Engine::device() const { return impl_->device; }
std::vector<MemoryRow> Engine::Memory() const { return impl_->plan.rows; }
std::vector<KernelLaunches> Engine::Launches() const { return impl_->ops->Launches(); }

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

Status Engine::Impl::FillRows(std::span<const StepTokens> entries) {
  std::size_t row = 0;
  for (const StepTokens& entry : entries) {
    OpenSequence& open = sequences.at(entry.sequence);
    KvCache::Sequence& sequence = open.kv;
    const std::size_t begin = sequence.tokens.size();
    VT_RETURN_IF_ERROR(cache->Append(sequence, entry.tokens));
    for (std::size_t t = 0; t < entry.tokens.size(); ++t, ++row) {
      const auto position = static_cast<std::int64_t>(begin + t);
      buffers.ids[row] = entry.tokens[t];
      buffers.positions[row] = static_cast<std::int32_t>(position);
      if (!states.empty()) buffers.state_rows[row] = {open.state_slot, position == 0 ? 1 : 0};
      for (std::size_t g = 0; g < cache->groups(); ++g) {
        const std::vector<std::int32_t>& pages = sequence.pages[g];
        const std::int64_t page = pages[static_cast<std::size_t>(position / kPageCells)];
        buffers.slots[g][row] =
            static_cast<std::int32_t>(page * kPageCells + position % kPageCells);
        buffers.attention_rows[g][row] = {
            pages.data(), static_cast<std::int32_t>(cache->FirstVisible(g, position)),
            static_cast<std::int32_t>(position)};
      }
    }
  }
  return {};
}

Status Engine::Impl::EmitLogits(std::span<const StepTokens> entries, const LogitSink& sink) {
  struct Wanted {
    std::size_t entry, token;
    std::int32_t row;
  };
  std::vector<Wanted> wanted;
  std::int32_t row = 0;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    for (std::size_t t = 0; t < entries[e].tokens.size(); ++t, ++row) {
      const bool last = t + 1 == entries[e].tokens.size();
      if (entries[e].all_logits || (last && entries[e].last_logits)) wanted.push_back({e, t, row});
    }
  }
  const auto vocab = static_cast<std::size_t>(spec.vocab);
  const auto most = static_cast<std::size_t>(plan.options.logit_rows);
  for (std::size_t begin = 0; begin < wanted.size(); begin += most) {
    const std::size_t count = std::min(most, wanted.size() - begin);
    for (std::size_t i = 0; i < count; ++i) buffers.logit_ids[i] = wanted[begin + i].row;
    VT_RETURN_IF_ERROR(ForwardLogits(Context(), static_cast<std::int64_t>(count), *ops));
    VT_RETURN_IF_ERROR(ops->Synchronize());
    for (std::size_t i = 0; i < count; ++i) {
      VT_RETURN_IF_ERROR(sink(wanted[begin + i].entry, wanted[begin + i].token,
                              std::span<const float>(buffers.logits + i * vocab, vocab)));
    }
  }
  return {};
}

Status Engine::Step(std::span<const StepTokens> entries, const LogitSink& sink) {
  std::int64_t rows = 0;
  VT_RETURN_IF_ERROR(impl_->CheckStep(entries, &rows));
  if (rows == 0) return {};
  VT_RETURN_IF_ERROR(impl_->FillRows(entries));
  VT_RETURN_IF_ERROR(ForwardLayers(impl_->Context(), rows, *impl_->ops));
  for (const StepTokens& entry : entries) {
    if (!entry.tentative) impl_->cache->Publish(impl_->sequences.at(entry.sequence).kv);
  }
  return impl_->EmitLogits(entries, sink);
}

}  // namespace vt
