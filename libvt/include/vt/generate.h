// Generation: prompts in, tokens out, many at once, over one Engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vt/engine.h"
#include "vt/grammar.h"
#include "vt/sampler.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

class Drafter;  // engine/speculate.h

struct GenerationRequest {
  std::vector<TokenId> prompt;
  std::int64_t max_tokens = 128;  // < 0: until the context is full
  SamplerOptions sampler;
  std::vector<std::string> stop;  // texts that end the answer and are not part of it
  std::vector<TokenId> end_tokens;
  std::optional<Grammar> grammar;  // of the whole answer; needs a tokenizer
  std::size_t logprobs = 0;        // alternatives to report per token
  bool prompt_logits = false;      // hand every prompt row to on_prompt_logits
  bool starts_text = false;  // the prompt is empty but for BOS: drop the tokenizer's prefix space
};

struct GeneratedToken {
  TokenId id = kNoToken;
  std::string text;  // whole characters released by this token; may be empty
  double logprob = 0;
  std::vector<TokenLogprob> top;  // `logprobs` entries
};

enum class StopReason {
  kEndToken,
  kStopText,
  kGrammarEnd,  // the grammar allows nothing more
  kMaxTokens,
  kContextFull,
  kInterrupted
};
std::string_view NameOf(StopReason reason);  // "end_token", "stop_text", "max_tokens", ...

struct GenerationResult {
  std::string text;
  std::vector<TokenId> tokens;  // the end token, when there is one, is the last
  StopReason stop = StopReason::kMaxTokens;
  std::string stop_detail;          // the stop text or the end token's text
  bool grammar_unfinished = false;  // the answer ended where its grammar does not allow it
  std::size_t prompt_tokens = 0;
  std::size_t reused_tokens = 0;  // of the prompt, from the prefix cache
  // With a drafter; tokens.size() == steps + accepted.
  std::size_t steps = 0;        // engine steps that gave tokens
  std::size_t drafted = 0;      // tokens guessed
  std::size_t accepted = 0;     // of these, guessed right and used
  std::uint64_t prompt_ns = 0;  // from the request's first step to its first token
  std::uint64_t decode_ns = 0;  // from the first token to the last
};

struct GenerationHooks {
  std::function<Status(std::size_t request, const GeneratedToken&)> on_token;
  std::function<Status(std::size_t request, std::size_t position, std::span<const float> logits)>
      on_prompt_logits;
  std::function<void(std::size_t request, std::size_t done, std::size_t total)> on_prompt_progress;
  // Called as each request ends, in order of ending.
  std::function<Status(std::size_t request, const GenerationResult&)> on_end;
};

// Runs all requests in one continuous batch of at most engine.options().sequences. A hook's error
// ends the run with that error. When `cancel` is set, running requests end with kInterrupted
// results (text so far flushed) and the call returns OK with those results. `tokenizer` may be null
// when no text is wanted (then stop texts and grammars are kInvalid). kNo: a grammar leaves no
// token to choose.
//
// With a `drafter`, steps with room to spare also check its guesses. Tokens, texts and logprobs are
// the same as without it, under a grammar too. kUnsupported: the model cannot take tokens back.
Result<std::vector<GenerationResult>> Generate(Engine& engine, const Tokenizer* tokenizer,
                                               std::span<const GenerationRequest> requests,
                                               const GenerationHooks& hooks,
                                               const std::atomic<bool>* cancel = nullptr,
                                               Drafter* drafter = nullptr);

}  // namespace vt
