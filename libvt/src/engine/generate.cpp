#include "vt/generate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>

#include "plan/memory_plan.h"

namespace vt {

std::string_view NameOf(StopReason reason) {
  switch (reason) {
    case StopReason::kEndToken:
      return "end_token";
    case StopReason::kStopText:
      return "stop_text";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kContextFull:
      return "context_full";
    case StopReason::kInterrupted:
      return "interrupted";
  }
  return "?";
}

namespace {

std::uint64_t NowNs() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// Text on its way out: held back while it could be the beginning of a stop text.
class StopFilter {
 public:
  explicit StopFilter(const std::vector<std::string>& stops) : stops_(&stops) {}

  // The part of what has come that may be shown. When a stop text is complete, `hit` is it.
  std::string Push(std::string_view text, std::optional<std::string>* hit) {
    held_ += text;
    std::size_t at = std::string::npos;
    for (const std::string& stop : *stops_) {
      const std::size_t found = held_.find(stop);
      if (found < at) {
        at = found;
        *hit = stop;
      }
    }
    if (at == std::string::npos) at = held_.size() - PossibleStart();
    std::string out = held_.substr(0, at);
    held_.erase(0, at);
    return out;
  }
  std::string Flush() { return std::exchange(held_, {}); }

 private:
  // The length of the longest end of what is held that begins a stop text.
  std::size_t PossibleStart() const {
    std::size_t longest = 0;
    for (const std::string& stop : *stops_) {
      for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > longest; --n) {
        if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) longest = n;
      }
    }
    return longest;
  }

  const std::vector<std::string>* stops_;
  std::string held_;
};

// A request while it is in the batch.
struct Active {
  Active(std::size_t i, const GenerationRequest& r, SequenceId s)
      : index(i), request(&r), sequence(s), sampler(r.sampler), history(r.prompt), filter(r.stop) {}

  std::size_t index;
  const GenerationRequest* request;
  SequenceId sequence;
  Sampler sampler;
  std::vector<TokenId> history;  // prompt and answer
  std::size_t fed = 0;           // of the history, in the engine
  StopFilter filter;
  std::optional<TokenStream> stream;
  GenerationResult result;
  std::uint64_t started_ns = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  bool done = false;

  bool in_prompt() const { return result.tokens.empty(); }
};

class Run {
 public:
  Run(Engine& engine, const Tokenizer* tokenizer, std::span<const GenerationRequest> requests,
      const GenerationHooks& hooks, const std::atomic<bool>* cancel)
      : engine_(engine),
        tokenizer_(tokenizer),
        requests_(requests),
        hooks_(hooks),
        cancel_(cancel) {}
  ~Run() {
    for (const Active& a : active_) engine_.Close(a.sequence);
  }

  Result<std::vector<GenerationResult>> All();

 private:
  Status Check() const;
  bool AwaitsPrefix(const GenerationRequest& request) const;
  Status Admit();
  Status Step();
  Status OnLogits(Active& a, std::size_t position, bool last, std::span<const float> logits);
  Status Accept(Active& a, TokenId id, std::span<const float> logits);
  Status Finish(Active& a, StopReason reason, std::string detail);
  Status InterruptAll();
  bool cancelled() const { return cancel_ && cancel_->load(std::memory_order_relaxed); }

  Engine& engine_;
  const Tokenizer* tokenizer_;
  std::span<const GenerationRequest> requests_;
  const GenerationHooks& hooks_;
  const std::atomic<bool>* cancel_;
  std::size_t next_ = 0;
  std::deque<Active> active_;
  std::vector<GenerationResult> results_;
};

Status Run::Check() const {
  const std::uint64_t context = engine_.options().context;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const GenerationRequest& request = requests_[i];
    const std::string subject = "request " + std::to_string(i);
    if (request.prompt.empty()) return InvalidError(subject + ": the prompt has no tokens");
    if (request.prompt.size() > context) {
      return InvalidError(subject + ": the prompt has " + std::to_string(request.prompt.size()) +
                          " tokens, the context " + std::to_string(context));
    }
    if (!tokenizer_ && !request.stop.empty()) {
      return InvalidError(subject +
                          ": stop texts need a tokenizer, and this model's cannot be used");
    }
    for (const std::string& stop : request.stop) {
      if (stop.empty()) return InvalidError(subject + ": a stop text is empty");
    }
    VT_RETURN_IF_ERROR(
        CheckSamplerOptions(request.sampler, engine_.spec().vocab).Annotate(subject));
  }
  return {};
}

// Whether a prompt in the batch is still to compute pages that `request` begins with too: once they
// are there, they need not be computed again.
bool Run::AwaitsPrefix(const GenerationRequest& request) const {
  if (!engine_.options().prefix_reuse || request.prompt_logits) return false;
  return std::any_of(active_.begin(), active_.end(), [&](const Active& a) {
    const std::vector<TokenId>& other = a.request->prompt;
    const auto parting =
        std::mismatch(other.begin(), other.end(), request.prompt.begin(), request.prompt.end());
    const std::int64_t shared = (parting.first - other.begin()) / kPageCells * kPageCells;
    return static_cast<std::int64_t>(a.fed) < shared;
  });
}

Status Run::Admit() {
  while (next_ < requests_.size() && !AwaitsPrefix(requests_[next_]) &&
         static_cast<std::int64_t>(active_.size()) < engine_.options().sequences) {
    const GenerationRequest& request = requests_[next_];
    std::size_t reused = 0;
    // Every prompt row is wanted when prompt logits are: nothing may be skipped then.
    const std::span<const TokenId> reusable = request.prompt_logits
                                                  ? std::span<const TokenId>()
                                                  : std::span<const TokenId>(request.prompt);
    VT_ASSIGN_OR_RETURN(const SequenceId sequence, engine_.Open(reusable, &reused));
    Active a(next_, request, sequence);
    a.fed = reused;
    if (tokenizer_) {
      a.stream.emplace(*tokenizer_);
      if (request.starts_text) a.stream->DropPrefixSpace();
    }
    a.result.prompt_tokens = request.prompt.size();
    a.result.reused_tokens = reused;
    a.started_ns = NowNs();
    active_.push_back(std::move(a));
    ++next_;
  }
  return {};
}

// One engine step: a token of every sequence that is generating, then prompts in order while there
// is room.
Status Run::Step() {
  std::int64_t room = engine_.options().ubatch;
  std::vector<StepTokens> entries;
  std::vector<Active*> owners;
  const auto add = [&](Active& a) {
    const std::size_t left = a.history.size() - a.fed;
    const auto count = std::min(left, static_cast<std::size_t>(room));
    if (count == 0) return;
    StepTokens entry;
    entry.sequence = a.sequence;
    entry.tokens = std::span<const TokenId>(a.history).subspan(a.fed, count);
    entry.all_logits = a.in_prompt() && a.request->prompt_logits;
    entry.last_logits = count == left && a.request->max_tokens != 0;
    entries.push_back(entry);
    owners.push_back(&a);
    room -= static_cast<std::int64_t>(count);
  };
  for (Active& a : active_) {
    if (!a.in_prompt()) add(a);
  }
  for (Active& a : active_) {
    if (a.in_prompt()) add(a);
  }
  std::vector<std::size_t> before;
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    before.push_back(owners[i]->fed);
    counts.push_back(entries[i].tokens.size());
  }
  const auto sink = [&](std::size_t e, std::size_t t, std::span<const float> logits) {
    Active& a = *owners[e];
    return OnLogits(a, before[e] + t, before[e] + t + 1 == a.history.size(), logits);
  };
  // OnLogits appends to histories, so the spans above are used by the engine before it is called.
  VT_RETURN_IF_ERROR(engine_.Step(entries, sink));
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Active& a = *owners[i];
    a.fed = before[i] + counts[i];
    const std::size_t total = a.request->prompt.size();
    if (before[i] < total && hooks_.on_prompt_progress) {
      hooks_.on_prompt_progress(a.index, std::min(a.fed, total), total);
    }
    if (!a.done && a.request->max_tokens == 0 && a.fed == total) {
      a.first_ns = NowNs();
      VT_RETURN_IF_ERROR(Finish(a, StopReason::kMaxTokens, {}));
    }
  }
  for (auto it = active_.begin(); it != active_.end();) {
    if (it->done) {
      engine_.Close(it->sequence);
      it = active_.erase(it);
    } else {
      ++it;
    }
  }
  return {};
}

Status Run::OnLogits(Active& a, std::size_t position, bool last, std::span<const float> logits) {
  if (a.in_prompt() && a.request->prompt_logits && hooks_.on_prompt_logits) {
    VT_RETURN_IF_ERROR(hooks_.on_prompt_logits(a.index, position, logits));
  }
  if (!last || a.request->max_tokens == 0) return {};
  const TokenId id = a.sampler.Sample(logits, a.history);
  if (std::isnan(logits[static_cast<std::size_t>(id)])) {
    return {Code::kNo, "logits: NaN after position " + std::to_string(position) +
                           "; run with --check to see the first op that makes one"};
  }
  return Accept(a, id, logits);
}

Status Run::Accept(Active& a, TokenId id, std::span<const float> logits) {
  const GenerationRequest& request = *a.request;
  a.last_ns = NowNs();
  if (a.in_prompt()) a.first_ns = a.last_ns;
  a.history.push_back(id);
  a.result.tokens.push_back(id);

  GeneratedToken token;
  token.id = id;
  if (request.logprobs > 0) {
    token.logprob = LogprobOf(logits, id);
    token.top = TopLogprobs(logits, request.logprobs);
  }
  const bool end = std::find(request.end_tokens.begin(), request.end_tokens.end(), id) !=
                   request.end_tokens.end();
  std::optional<std::string> stop;
  if (a.stream && !end) token.text = a.filter.Push(a.stream->Push(id), &stop);

  std::optional<StopReason> reason;
  std::string detail;
  const auto produced = static_cast<std::int64_t>(a.result.tokens.size());
  if (end) {
    reason = StopReason::kEndToken;
    if (tokenizer_) detail = tokenizer_->raw_text(id);
  } else if (stop) {
    reason = StopReason::kStopText;
    detail = *stop;
  } else if (request.max_tokens >= 0 && produced >= request.max_tokens) {
    reason = StopReason::kMaxTokens;
  } else if (a.history.size() > engine_.options().context) {
    reason = StopReason::kContextFull;
  }
  if (reason && !stop && a.stream) {
    // What was held back comes with the last token.
    std::optional<std::string> late;
    token.text += a.filter.Push(a.stream->Flush(), &late);
    if (late) {
      reason = StopReason::kStopText;
      detail = *late;
    } else {
      token.text += a.filter.Flush();
    }
  }
  a.result.text += token.text;
  if (hooks_.on_token) VT_RETURN_IF_ERROR(hooks_.on_token(a.index, token));
  if (reason) return Finish(a, *reason, std::move(detail));
  return {};
}

Status Run::Finish(Active& a, StopReason reason, std::string detail) {
  a.done = true;
  a.result.stop = reason;
  a.result.stop_detail = std::move(detail);
  if (a.first_ns != 0) a.result.prompt_ns = a.first_ns - a.started_ns;
  if (a.last_ns > a.first_ns) a.result.decode_ns = a.last_ns - a.first_ns;
  results_[a.index] = a.result;
  if (hooks_.on_end) return hooks_.on_end(a.index, a.result);
  return {};
}

// Requests in the batch, and those that never got there, end as interrupted.
Status Run::InterruptAll() {
  for (Active& a : active_) {
    if (a.done) continue;
    if (a.stream) {
      std::optional<std::string> stop;
      GeneratedToken rest;
      rest.text = a.filter.Push(a.stream->Flush(), &stop);
      if (!stop) rest.text += a.filter.Flush();
      a.result.text += rest.text;
      if (!rest.text.empty() && hooks_.on_token) VT_RETURN_IF_ERROR(hooks_.on_token(a.index, rest));
    }
    VT_RETURN_IF_ERROR(Finish(a, StopReason::kInterrupted, {}));
  }
  for (; next_ < requests_.size(); ++next_) {
    results_[next_].stop = StopReason::kInterrupted;
    results_[next_].prompt_tokens = requests_[next_].prompt.size();
    if (hooks_.on_end) VT_RETURN_IF_ERROR(hooks_.on_end(next_, results_[next_]));
  }
  return {};
}

Result<std::vector<GenerationResult>> Run::All() {
  VT_RETURN_IF_ERROR(Check());
  results_.resize(requests_.size());
  while (next_ < requests_.size() || !active_.empty()) {
    if (cancelled()) {
      VT_RETURN_IF_ERROR(InterruptAll());
      break;
    }
    VT_RETURN_IF_ERROR(Admit());
    const Status step = Step();
    if (step.code() == Code::kInterrupted && cancelled()) continue;
    VT_RETURN_IF_ERROR(step);
  }
  return std::move(results_);
}

}  // namespace

Result<std::vector<GenerationResult>> Generate(Engine& engine, const Tokenizer* tokenizer,
                                               std::span<const GenerationRequest> requests,
                                               const GenerationHooks& hooks,
                                               const std::atomic<bool>* cancel) {
  return Run(engine, tokenizer, requests, hooks, cancel).All();
}

}  // namespace vt
