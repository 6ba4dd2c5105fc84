#include "bench/bench_run.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "bench/void_rules.h"
#include "ops/cases/random_data.h"

namespace vt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kKeepEveryNs = 2'000'000'000;

std::uint64_t NsSince(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

std::string KernelRelease() {
  utsname names = {};
  return uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "";
}

std::uint64_t PeakResidentBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

BenchModel ModelFacts(const GgufFile& file, const ModelSpec& spec) {
  BenchModel model;
  model.file = file.shards().front().path;
  model.digest = file.HeaderDigest();
  model.architecture = spec.architecture;
  model.name = spec.name;
  model.bytes = file.total_bytes();
  std::map<std::string_view, std::uint64_t> bytes;
  for (const GgufTensor& tensor : file.tensors()) {
    model.parameters += tensor.cols() * tensor.rows();
    bytes[NameOf(tensor.type)] += tensor.bytes;
  }
  for (const auto& [name, unused] : bytes) model.types.emplace_back(name);
  std::stable_sort(model.types.begin(), model.types.end(),
                   [&](const auto& a, const auto& b) { return bytes[a] > bytes[b]; });
  return model;
}

// Tokens of a sequence as they are asked for.
class TokenSource {
 public:
  TokenSource(std::vector<TokenId> prompt, std::vector<TokenId> ordinary, std::uint64_t seed)
      : prompt_(std::move(prompt)), ordinary_(std::move(ordinary)), seed_(seed) {}

  // `count` tokens; the same stream gives the same ones. A given prompt is repeated as needed and
  // begins anew for each stream.
  std::vector<TokenId> Take(std::uint64_t stream, std::int64_t count) const {
    std::vector<TokenId> tokens(static_cast<std::size_t>(count));
    RandomData random(seed_ * 0x9e3779b97f4a7c15u + stream);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] =
          prompt_.empty() ? ordinary_[random.Below(ordinary_.size())] : prompt_[i % prompt_.size()];
    }
    return tokens;
  }

 private:
  std::vector<TokenId> prompt_, ordinary_;
  std::uint64_t seed_;
};

class BenchRun {
 public:
  BenchRun(const BenchInput& input, const BenchHooks& hooks, BenchRecord* record)
      : input_(input), hooks_(hooks), record_(*record), settings_(record->settings) {}

  Status Run();

 private:
  Status Prepare();
  Status Load();
  Status RunTest(const BenchTest& test);
  Status Sample(const BenchTest& test, BenchResult& result, bool timed);
  Status Prefill(const BenchTest& test, BenchResult& result, bool timed);
  Status Decode(const BenchTest& test, BenchResult& result, bool timed);
  // Opens a sequence of `tokens` and computes it but for the reused part.
  Result<SequenceId> OpenAt(std::span<const TokenId> tokens);
  Status Feed(SequenceId sequence, std::span<const TokenId> tokens, TokenId* next);
  // Waits, busy, for the share of the time since `start` that a step is to be slower.
  void HoldBack(Clock::time_point start) const;
  Status Interrupted() const;  // asked between steps; what the sample has so far is dropped
  void Gather();
  // Hands on what has been measured so far.
  Status Keep();
  void Advance(std::int64_t tokens);

  const BenchInput& input_;
  const BenchHooks& hooks_;
  BenchRecord& record_;
  BenchSettings& settings_;
  std::unique_ptr<Engine> engine_;
  std::optional<TokenSource> tokens_;
  std::optional<EnergyMeter> energy_;
  std::uint64_t stream_ =
      1000;  // of the next prompt; depths and decoded tokens have the ones below
  std::string label_;
  Clock::time_point kept_at_ = Clock::now();
  std::uint64_t done_ = 0, total_ = 0;
};

void BenchRun::Advance(std::int64_t tokens) {
  done_ += static_cast<std::uint64_t>(tokens);
  if (hooks_.progress) hooks_.progress(label_, done_, total_);
}

Status BenchRun::Prepare() {
  VT_ASSIGN_OR_RETURN(std::vector<TokenId> ordinary,
                      OrdinaryTokens(input_.tokenizer, input_.spec->vocab));
  tokens_.emplace(input_.prompt, std::move(ordinary), settings_.seed);
  record_.prompt_source = input_.prompt.empty() ? "random" : "file";
  record_.date = BenchDate();
  record_.build = ThisBuild();
  VT_ASSIGN_OR_RETURN(record_.program, ProgramFiles());
  record_.kernel_release = KernelRelease();
  record_.processors = HostProcessors();
  record_.model = ModelFacts(*input_.file, *input_.spec);

  const std::int64_t depth = *std::max_element(settings_.depths.begin(), settings_.depths.end());
  const std::int64_t longest = std::max(settings_.prompt, settings_.gen + 1);
  EngineOptions& engine = settings_.engine;
  engine.context = static_cast<std::uint64_t>(depth + longest);
  engine.sequences = *std::max_element(settings_.batches.begin(), settings_.batches.end());
  // Without depths nothing could be reused; a given prompt would be found again.
  engine.prefix_reuse = depth > 0 && input_.prompt.empty();
  if (input_.spec->context_train > 0 && engine.context > input_.spec->context_train) {
    return InvalidError("depth " + std::to_string(depth) + " and " + std::to_string(longest) +
                        " more tokens: more than the " +
                        std::to_string(input_.spec->context_train) +
                        " positions the model was trained on; lower -d, -p or -n");
  }
  for (const BenchTest& test : TestsOf(settings_)) {
    const std::int64_t before = test.depth * test.batch;
    total_ += static_cast<std::uint64_t>((before + test.tokens()) *
                                         (settings_.repetitions + settings_.warmups));
  }
  return {};
}

Status BenchRun::Load() {
  LoadControl control;
  control.cancel = hooks_.cancel;
  control.progress = [this](std::uint64_t done, std::uint64_t total) {
    if (hooks_.progress) hooks_.progress("loading", done, total);
  };
  const Clock::time_point start = Clock::now();
  VT_ASSIGN_OR_RETURN(engine_, Engine::Load(*input_.file, *input_.spec, settings_.engine, control));
  record_.load_ns = NsSince(start);
  settings_.engine.threads = engine_->options().threads;
  record_.device = engine_->device();
  return {};
}

Status BenchRun::Interrupted() const {
  if (!hooks_.cancel || !*hooks_.cancel) return {};
  return Status(Code::kInterrupted, "interrupted while measuring " + label_);
}

void BenchRun::HoldBack(Clock::time_point start) const {
  if (settings_.slow_down_percent == 0) return;
  const std::uint64_t taken = NsSince(start);
  const std::uint64_t until =
      taken + taken * static_cast<std::uint64_t>(settings_.slow_down_percent) / 100;
  while (NsSince(start) < until) continue;
}

Status BenchRun::Feed(SequenceId sequence, std::span<const TokenId> tokens, TokenId* next) {
  const std::size_t most = static_cast<std::size_t>(settings_.engine.ubatch);
  const LogitSink pick = [&](std::size_t, std::size_t, std::span<const float> logits) {
    *next = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    return Status();
  };
  while (!tokens.empty()) {
    VT_RETURN_IF_ERROR(Interrupted());
    const auto chunk = tokens.subspan(0, std::min(most, tokens.size()));
    tokens = tokens.subspan(chunk.size());
    const StepTokens entry{
        .sequence = sequence, .tokens = chunk, .last_logits = next && tokens.empty()};
    VT_RETURN_IF_ERROR(engine_->Step({&entry, 1}, pick));
  }
  return {};
}

Result<SequenceId> BenchRun::OpenAt(std::span<const TokenId> tokens) {
  std::size_t reused = 0;
  VT_ASSIGN_OR_RETURN(const SequenceId sequence, engine_->Open(tokens, &reused));
  if (const Status status = Feed(sequence, tokens.subspan(reused), nullptr); !status.ok()) {
    engine_->Close(sequence);
    return status;
  }
  return sequence;
}

Status BenchRun::Prefill(const BenchTest& test, BenchResult& result, bool timed) {
  std::vector<TokenId> tokens = tokens_->Take(0, test.depth);
  const std::vector<TokenId> prompt = tokens_->Take(stream_++, test.n_prompt);
  SequenceId sequence = 0;
  if (test.depth > 0) {
    VT_ASSIGN_OR_RETURN(sequence, OpenAt(tokens));
  }
  if (energy_) energy_->Lap();
  const Clock::time_point start = Clock::now();
  if (test.depth == 0) {
    std::size_t reused = 0;
    VT_ASSIGN_OR_RETURN(sequence, engine_->Open(prompt, &reused));
    if (reused > 0) {
      engine_->Close(sequence);
      return InternalError("prefill: " + std::to_string(reused) + " tokens came from the cache");
    }
  }
  std::uint64_t computed_ns = 0;
  TokenId next = kNoToken;
  // The sink of the last step picks the first token; what it takes is part of first_token_ns alone.
  const std::size_t most = static_cast<std::size_t>(settings_.engine.ubatch);
  std::span<const TokenId> rest = prompt;
  Status status;
  while (status.ok() && !rest.empty()) {
    if (status = Interrupted(); !status.ok()) break;
    const auto chunk = rest.subspan(0, std::min(most, rest.size()));
    rest = rest.subspan(chunk.size());
    const StepTokens entry{.sequence = sequence, .tokens = chunk, .last_logits = rest.empty()};
    status =
        engine_->Step({&entry, 1}, [&](std::size_t, std::size_t, std::span<const float> logits) {
          HoldBack(start);
          computed_ns = NsSince(start);
          next =
              static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
          return Status();
        });
  }
  const std::uint64_t first_token_ns = NsSince(start);
  const std::optional<double> joules = energy_ ? energy_->Lap() : std::nullopt;
  engine_->Close(sequence);
  VT_RETURN_IF_ERROR(status);
  if (next == kNoToken) return InternalError("prefill: no logits came");
  (timed ? result.samples_ns : result.warmup_ns).push_back(computed_ns);
  if (timed) result.first_token_ns.push_back(first_token_ns);
  if (timed && joules) result.joules = result.joules.value_or(0) + *joules;
  return {};
}

Status BenchRun::Decode(const BenchTest& test, BenchResult& result, bool timed) {
  const std::size_t batch = static_cast<std::size_t>(test.batch);
  std::vector<SequenceId> sequences;
  std::vector<std::vector<TokenId>> streams;
  Status status;
  // One token at least stands before what is timed.
  const std::int64_t depth = std::max<std::int64_t>(test.depth, 1);
  for (std::size_t i = 0; i < batch && status.ok(); ++i) {
    const Result<SequenceId> sequence = OpenAt(tokens_->Take(i, depth));
    status = sequence.status();
    if (!status.ok()) break;
    sequences.push_back(*sequence);
    streams.push_back(tokens_->Take(500 + i, test.n_gen));
    Advance(test.depth);
  }
  std::vector<std::uint64_t> steps;
  std::uint64_t total_ns = 0;
  if (energy_) energy_->Lap();
  for (std::size_t step = 0; step < static_cast<std::size_t>(test.n_gen) && status.ok(); ++step) {
    if (status = Interrupted(); !status.ok()) break;
    std::vector<StepTokens> entries;
    for (std::size_t i = 0; i < batch; ++i) {
      entries.push_back({.sequence = sequences[i], .tokens = {&streams[i][step], 1}});
    }
    const Clock::time_point start = Clock::now();
    status = engine_->Step(
        entries, [](std::size_t, std::size_t, std::span<const float>) { return Status(); });
    HoldBack(start);
    steps.push_back(NsSince(start));
    total_ns += steps.back();
    Advance(test.batch);
  }
  const std::optional<double> joules = energy_ ? energy_->Lap() : std::nullopt;
  for (const SequenceId sequence : sequences) engine_->Close(sequence);
  VT_RETURN_IF_ERROR(status);
  (timed ? result.samples_ns : result.warmup_ns).push_back(total_ns);
  if (timed) result.step_ns.insert(result.step_ns.end(), steps.begin(), steps.end());
  if (timed && joules) result.joules = result.joules.value_or(0) + *joules;
  return {};
}

Status BenchRun::Sample(const BenchTest& test, BenchResult& result, bool timed) {
  VT_RETURN_IF_ERROR(Interrupted());
  if (test.kind == BenchKind::kDecode) return Decode(test, result, timed);
  VT_RETURN_IF_ERROR(Prefill(test, result, timed));
  Advance(test.depth + test.n_prompt);
  return {};
}

Status BenchRun::RunTest(const BenchTest& test) {
  label_ = AxisOf(test);
  record_.results.emplace_back();
  BenchResult& result = record_.results.back();
  result.test = test;
  Status status;
  for (std::int64_t i = 0; i < settings_.warmups + settings_.repetitions && status.ok(); ++i) {
    status = Sample(test, result, i >= settings_.warmups);
    // Not after each of many short samples, which the disk would disturb.
    if (status.ok() && !result.samples_ns.empty() && NsSince(kept_at_) > kKeepEveryNs) {
      status = Keep();
    }
  }
  if (result.samples_ns.empty()) record_.results.pop_back();
  return status;
}

Status BenchRun::Keep() {
  kept_at_ = Clock::now();
  Gather();
  return hooks_.on_progress ? hooks_.on_progress(record_) : Status();
}

void BenchRun::Gather() {
  record_.after = ReadHost(hooks_.root);
  record_.change = JudgeHost(record_.before, record_.after, record_.processors);
  record_.peak_resident_bytes = PeakResidentBytes();
  if (engine_) {
    record_.memory = engine_->Memory();
    record_.launches = engine_->Launches();
  }
  record_.voids = JudgeRecord(record_);
}

Status BenchRun::Run() {
  VT_RETURN_IF_ERROR(Prepare());
  energy_.emplace(hooks_.root);
  record_.energy_reason = energy_->reason();
  VT_RETURN_IF_ERROR(Load());
  if (settings_.quiet_wait_s > 0) {
    const auto sleep = [&](double seconds) {
      for (const Clock::time_point start = Clock::now();
           static_cast<double>(NsSince(start)) < seconds * 1e9;) {
        if (hooks_.cancel && *hooks_.cancel) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      return true;
    };
    record_.gate = AwaitQuiet(
        settings_.quiet_wait_s, record_.processors, [&] { return ReadHost(hooks_.root); }, sleep);
  }
  record_.before = ReadHost(hooks_.root);
  Status status;
  for (const BenchTest& test : TestsOf(settings_)) {
    status = RunTest(test);
    if (!status.ok()) {
      Gather();
      break;
    }
    if (status = Keep(); !status.ok()) break;
  }
  return status;
}

}  // namespace

Result<std::vector<TokenId>> OrdinaryTokens(const Tokenizer* tokenizer, std::int64_t vocab) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < vocab; ++i) {
    const TokenId id = static_cast<TokenId>(i);
    if (tokenizer) {
      if (static_cast<std::uint64_t>(i) >= tokenizer->vocab_size()) break;
      if (tokenizer->kind(id) != TokenKind::kNormal || tokenizer->IsEnd(id) ||
          tokenizer->Piece(id).empty()) {
        continue;
      }
    }
    ids.push_back(id);
  }
  if (ids.empty()) return InvalidError("vocabulary: has no ordinary token; give --prompt-file");
  return ids;
}

Status RunBench(const BenchInput& input, const BenchHooks& hooks, BenchRecord* record) {
  const Status status = BenchRun(input, hooks, record).Run();
  record->partial = !status.ok();
  record->partial_reason = status.message();
  return status;
}

}  // namespace vt
