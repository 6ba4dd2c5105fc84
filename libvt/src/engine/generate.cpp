#include "vt/generate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>

#include "base/json_writer.h"
#include "engine/speculate.h"
#include "plan/memory_plan.h"

namespace vt {

std::string_view NameOf(StopReason reason) {
  switch (reason) {
    case StopReason::kEndToken:
      return "end_token";
    case StopReason::kStopText:
      return "stop_text";
    case StopReason::kGrammarEnd:
      return "grammar_end";
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

Status NothingAllowed(std::string_view text, const GrammarState& grammar) {
  constexpr std::size_t kShown = 60;  // bytes of the text's end
  std::string message = "grammar: no token that may be chosen fits ";
  if (text.empty()) {
    message += "at the beginning of the answer";
  } else {
    const bool cut = text.size() > kShown;
    message += std::string("after \"") + (cut ? "..." : "") +
               ValidUtf8(cut ? text.substr(text.size() - kShown) : text) + "\"";
  }
  return {Code::kNo, message + " (expected there: " + grammar.Expected() +
                         "); allow what the vocabulary can write, or take back a logit bias of "
                         "-inf"};
}

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
  std::vector<TokenId> guessed;  // the newest token and the guesses behind it
  std::size_t reach = 2;         // guesses of the next step: more while all were right
  StopFilter filter;
  std::optional<TokenStream> stream;
  std::optional<GrammarState> grammar;
  GenerationResult result;
  std::uint64_t started_ns = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  bool done = false;

  bool in_prompt() const { return result.tokens.empty(); }
  // Guesses that could still become part of the answer.
  std::size_t useful_guesses(std::uint64_t context) const {
    const std::size_t room = static_cast<std::size_t>(context) - history.size();
    if (request->max_tokens < 0) return room;
    return std::min(room, static_cast<std::size_t>(request->max_tokens) - result.tokens.size() - 1);
  }
};

class Run {
 public:
  Run(Engine& engine, const Tokenizer* tokenizer, std::span<const GenerationRequest> requests,
      const GenerationHooks& hooks, const std::atomic<bool>* cancel, Drafter* drafter)
      : engine_(engine),
        tokenizer_(tokenizer),
        requests_(requests),
        hooks_(hooks),
        cancel_(cancel),
        drafter_(drafter) {}
  ~Run() {
    for (const Active& a : active_) Close(a);
  }

  Result<std::vector<GenerationResult>> All();

 private:
  Status Check() const;
  bool AwaitsPrefix(const GenerationRequest& request) const;
  GrammarState StateOf(const GenerationRequest& request);
  Status Admit();
  Status Step();
  Status AddGuesses(std::span<StepTokens> entries, std::span<Active* const> owners,
                    std::size_t room);
  Status AfterStep(Active& a, const StepTokens& entry);
  void Close(const Active& a);
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
  Drafter* drafter_;
  std::size_t next_ = 0;
  std::deque<Active> active_;
  std::vector<GenerationResult> results_;
  std::optional<GrammarVocabulary> vocabulary_;  // made when first needed
  // The state at the beginning of the last grammar: what it finds out serves all its requests.
  const GenerationRequest* prepared_ = nullptr;
  std::optional<GrammarState> prepared_state_;
};

Status Run::Check() const {
  if (drafter_) VT_RETURN_IF_ERROR(CanTakeBack(engine_.spec()));
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
    if (!tokenizer_ && request.grammar) {
      return InvalidError(subject +
                          ": a grammar needs a tokenizer, and this model's cannot be used");
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

GrammarState Run::StateOf(const GenerationRequest& request) {
  if (!vocabulary_) vocabulary_.emplace(*tokenizer_);
  if (!prepared_ || !(prepared_->grammar == request.grammar) ||
      prepared_->end_tokens != request.end_tokens) {
    prepared_ = &request;
    prepared_state_.emplace(*request.grammar, *vocabulary_, request.end_tokens);
  }
  GrammarState state = *prepared_state_;
  if (request.starts_text && tokenizer_->facts().add_space_prefix) state.DropPrefixSpace();
  return state;
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
    if (request.grammar) a.grammar = StateOf(request);
    a.result.prompt_tokens = request.prompt.size();
    a.result.reused_tokens = reused;
    a.started_ns = NowNs();
    active_.push_back(std::move(a));
    ++next_;
  }
  return {};
}

// Puts guesses behind the newest tokens of sequences that are generating.
Status Run::AddGuesses(std::span<StepTokens> entries, std::span<Active* const> owners,
                       std::size_t room) {
  std::vector<std::size_t> wanted(entries.size(), 0);
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const Active& a = *owners[e];
    if (a.in_prompt()) continue;
    wanted[e] = std::min({drafter_->most(), a.reach, a.useful_guesses(engine_.options().context)});
  }
  const std::vector<std::size_t> shares = ShareDrafts(wanted, room);
  std::vector<DraftWork> work;
  std::vector<std::size_t> entry_of;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    if (shares[e] == 0) continue;
    work.push_back({owners[e]->index, owners[e]->history, shares[e], {}});
    entry_of.push_back(e);
  }
  if (work.empty()) return {};
  VT_RETURN_IF_ERROR(drafter_->Draft(work));
  for (std::size_t i = 0; i < work.size(); ++i) {
    std::vector<TokenId>& draft = work[i].draft;
    draft.resize(std::min(draft.size(), work[i].most));
    if (draft.empty()) continue;
    Active& a = *owners[entry_of[i]];
    a.guessed.assign(1, a.history.back());
    a.guessed.insert(a.guessed.end(), draft.begin(), draft.end());
    a.result.drafted += draft.size();
    StepTokens& entry = entries[entry_of[i]];
    entry.tokens = a.guessed;
    entry.all_logits = true;
    entry.tentative = true;
  }
  return {};
}

// One engine step: a token of every sequence that is generating, then prompts in order while there
// is room, then guesses in the room that is left.
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
  if (drafter_) VT_RETURN_IF_ERROR(AddGuesses(entries, owners, static_cast<std::size_t>(room)));
  const auto sink = [&](std::size_t e, std::size_t t, std::span<const float> logits) {
    Active& a = *owners[e];
    const bool is_guess = entries[e].tentative && t > 0;
    // A guess that was wrong, and what came behind it, tells nothing.
    if (is_guess &&
        (a.done || a.history.size() != a.fed + t + 1 || a.history.back() != a.guessed[t])) {
      return Status();
    }
    const bool last = a.fed + t + 1 == a.history.size();
    if (last && a.request->max_tokens != 0) ++(is_guess ? a.result.accepted : a.result.steps);
    return OnLogits(a, a.fed + t, last, logits);
  };
  // OnLogits appends to histories, so the spans above are used by the engine before it is called.
  VT_RETURN_IF_ERROR(engine_.Step(entries, sink));
  for (std::size_t i = 0; i < owners.size(); ++i) {
    VT_RETURN_IF_ERROR(AfterStep(*owners[i], entries[i]));
  }
  for (auto it = active_.begin(); it != active_.end();) {
    if (it->done) {
      Close(*it);
      it = active_.erase(it);
    } else {
      ++it;
    }
  }
  return {};
}

Status Run::AfterStep(Active& a, const StepTokens& entry) {
  const std::size_t total = a.request->prompt.size();
  const bool in_prompt = a.fed < total;
  if (entry.tentative) {
    const std::size_t right = a.history.size() - a.fed - 2;
    const bool all = right + 1 == entry.tokens.size();
    a.reach = all ? std::min(2 * a.reach, drafter_->most()) : right + 1;
    a.fed = a.history.size() - 1;
    return a.done ? Status() : engine_.Truncate(a.sequence, a.fed);
  }
  a.fed += entry.tokens.size();
  if (in_prompt && hooks_.on_prompt_progress) {
    hooks_.on_prompt_progress(a.index, std::min(a.fed, total), total);
  }
  if (a.done || a.request->max_tokens != 0 || a.fed != total) return {};
  a.first_ns = NowNs();
  return Finish(a, StopReason::kMaxTokens, {});
}

void Run::Close(const Active& a) {
  engine_.Close(a.sequence);
  if (drafter_) drafter_->End(a.index);
}

Status Run::OnLogits(Active& a, std::size_t position, bool last, std::span<const float> logits) {
  if (a.in_prompt() && a.request->prompt_logits && hooks_.on_prompt_logits) {
    VT_RETURN_IF_ERROR(hooks_.on_prompt_logits(a.index, position, logits));
  }
  if (!last || a.request->max_tokens == 0) return {};
  std::span<const std::uint64_t> allowed;
  if (a.grammar) {
    VT_ASSIGN_OR_RETURN(const GrammarState::Mask mask, a.grammar->AllowedTokens());
    allowed = mask.words;
  }
  const TokenId id = a.sampler.Sample(logits, a.history, allowed);
  if (id == kNoToken) return NothingAllowed(a.result.text, *a.grammar);
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
  const bool may_end = !a.grammar || a.grammar->may_end();  // before the token
  if (a.grammar) a.grammar->Accept(id);
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
  } else if (a.grammar && a.grammar->must_end()) {
    reason = StopReason::kGrammarEnd;
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
  if (!reason) return {};
  a.result.grammar_unfinished = a.grammar && !(end ? may_end : a.grammar->may_end());
  return Finish(a, *reason, std::move(detail));
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
                                               const std::atomic<bool>* cancel, Drafter* drafter) {
  return Run(engine, tokenizer, requests, hooks, cancel, drafter).All();
}

}  // namespace vt
