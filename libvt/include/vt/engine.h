// The engine: one model on its devices, every byte from one memory plan, sequences in one
// continuous batch.
//
// Goal: logits of a sequence depend on its tokens alone: not on threads, prompt chunking, the other
// sequences in the batch, or whether a prefix was computed or reused.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vt/device.h"
#include "vt/dtype.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/placement.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

// An op that has just run, and its f32 result (nothing for ops with whole-number results), which
// lives until the call returns. After the ops of a layer comes one event more: place kLayerEnd, no
// kernel, and the residual stream, [rows, width].
struct OpEvent {
  int layer = -1;              // -1: outside the layers
  std::string_view place;      // "attn_q", "ffn_down", "token_embd"
  std::string_view op;         // "matmul"
  std::string_view kernel;     // "cpu.avx2.q15"
  std::span<const float> out;  // the op's whole output, row-major
  // Of "route", whose `out` are the weights: the experts of each row, [rows, used].
  std::span<const std::int32_t> numbers = {};
};
inline constexpr std::string_view kLayerEnd = "layer_end";

struct EngineOptions {
  std::string device = "cpu";          // the id of the one that runs all, without a placement
  std::optional<Placement> placement;  // over several devices
  std::vector<DeviceInfo> sims;        // what sim:0, sim:1, .. are like
  std::uint64_t context = 4096;        // positions of one sequence
  std::int64_t sequences = 1;          // that run at once
  std::int64_t ubatch = 512;           // most tokens of one step
  std::int64_t logit_rows = 0;         // most rows of logits at once; 0: as many as sequences
  std::int64_t tentative = 0;          // most tokens of a sequence that are taken back at once
  DType kv_type = DType::kF16;         // f32, f16, bf16, q8_0
  int threads = 0;                     // 0: one per core this process may use
  bool exact = false;                  // weights dequantised, f32 throughout
  bool check = false;                  // stop at the first op whose result has a NaN
  bool prefix_reuse = true;
  std::string isa;  // hold the CPU to an instruction set; empty: all it has
  std::string lowest_tier = "reference";
  std::map<std::string, std::string> forced_kernels;  // op -> kernel
  // Called after every op and layer of a step, in order; an error ends the step with it. Null: not
  // at all.
  std::function<Status(const OpEvent&)> on_op = nullptr;
};

// One row of the memory plan.
struct MemoryRow {
  std::string device;  // "cpu"
  std::string row;     // "weights.kept", "weights.slots", "kv.full", "activations", ..
  std::uint64_t predicted_bytes = 0;
  std::uint64_t allocated_bytes = 0;  // 0 until loaded
  std::string how = {};               // "mapped": pages of the file, which are no allocation
};

// What a run of this model with these options will allocate, from the header alone: rows of each
// device that the placement uses, and of the host.
Result<std::vector<MemoryRow>> PlanMemory(const GgufFile& file, const ModelSpec& spec,
                                          const EngineOptions& options);

struct KernelLaunches {
  std::string op;
  std::string device;
  std::string kernel;
  std::string tier;
  std::uint64_t launches = 0;
};

// What the expert slots of a device have done since the load (LayerPlacement::expert_slots).
struct ExpertSlotCounts {
  std::string device;
  std::uint64_t hits = 0;            // experts that a step found there
  std::uint64_t misses = 0;          // that were copied there
  std::uint64_t evictions = 0;       // that made room for others
  std::uint64_t uploaded_bytes = 0;  // of the misses
  std::uint64_t quarantined_slots = 0;
};

// The most that a device had allocated at once, as its own allocator counts it.
struct DevicePeak {
  std::string device;
  std::uint64_t peak_bytes = 0;
};

using SequenceId = int;

// The rows of one step that want logits, in the order of the step's tokens.
struct StepTokens {
  SequenceId sequence = 0;
  std::span<const TokenId> tokens;  // appended to the sequence
  bool all_logits = false;          // a row per token, not only the last
  bool last_logits = true;
  bool tentative = false;  // Truncate may take these tokens back
};
// Called once for every wanted row: which entry of the step, which of its tokens, [vocab] logits
// that live until the call returns.
using LogitSink =
    std::function<Status(std::size_t entry, std::size_t token, std::span<const float>)>;

// How a load is watched and stopped.
struct LoadControl {
  const std::atomic<bool>* cancel = nullptr;  // polled, by steps too; set: kInterrupted
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // bytes of weights
};

class Engine {
 public:
  // Refuses before anything is loaded: kUnsupported when an op has no kernel here (its reasons),
  // kNoMemory with the row that does not fit, kInvalid for options out of range. `file` must
  // outlive the engine; its weights stay mapped and are not copied.
  static Result<std::unique_ptr<Engine>> Load(const GgufFile& file, const ModelSpec& spec,
                                              const EngineOptions& options,
                                              const LoadControl& control = {});
  ~Engine();

  const ModelSpec& spec() const;
  const EngineOptions& options() const;            // with threads, logit_rows filled in
  const DeviceInfo& device() const;                // that runs the output
  std::vector<const DeviceInfo*> devices() const;  // that the placement uses, in its order

  // A new sequence. The tokens of `prompt` whose keys and values are already held (a whole number
  // of pages, never the last token) count as appended: `reused` says how many.
  Result<SequenceId> Open(std::span<const TokenId> prompt, std::size_t* reused);
  void Close(SequenceId sequence);  // its full pages stay for reuse until room is needed
  std::size_t Length(SequenceId sequence) const;
  // Takes back the tokens after the first `length`, all of which came in tentative steps since the
  // last step that was not, or the last Truncate; the others stay for good. Of a model with a
  // recurrent state kUnsupported, unless none is taken back.
  Status Truncate(SequenceId sequence, std::size_t length);

  // Runs one step; the entries' tokens together are at most ubatch, each sequence at most once.
  // kInvalid when a sequence would exceed the context, or a token is outside the vocabulary.
  Status Step(std::span<const StepTokens> entries, const LogitSink& sink);

  std::vector<MemoryRow> Memory() const;
  // Since the load began or the previous call; of devices that the placement uses, but not of the
  // host, whose weights are pages of a file and no allocation.
  std::vector<DevicePeak> TakePeaks();
  std::vector<KernelLaunches> Launches() const;      // by device, op and kernel
  std::vector<ExpertSlotCounts> SlotCounts() const;  // of devices that have some

 private:
  Engine();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vt
