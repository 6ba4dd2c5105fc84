// Choosing the next token from logits.
//
// Order: the mask, logit bias, penalties, then (temperature > 0) top-k, typical-p, top-p, min-p,
// temperature, draw. Temperature 0 takes the highest logit, the lowest id on ties. The draw depends
// on the seed and the number of draws so far alone.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

struct SamplerOptions {
  std::uint64_t seed = 0;
  float temperature = 0.8f;
  std::int64_t top_k = 40;  // 0: off
  float top_p = 0.95f;      // 1: off
  float min_p = 0.05f;      // 0: off
  float typical_p = 1.0f;   // 1: off
  float repeat_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  std::int64_t penalty_window = 64;  // newest tokens looked at; -1: all, 0: none
  std::vector<std::pair<TokenId, float>> logit_bias;
};

// kInvalid names the option that is out of range, with the value seen and the values allowed.
Status CheckSamplerOptions(const SamplerOptions& options, std::int64_t vocab);
// The samplers that will act, in order, for people: {"logit-bias", "top-k 40", "temperature 0.8"}.
std::vector<std::string> ActiveSamplers(const SamplerOptions& options);

class Sampler {
 public:
  explicit Sampler(SamplerOptions options);
  // `history` is prompt and answer so far; `logits` [vocab] is not changed. `allowed`: a bit for
  // each token, bit id % 64 of word id / 64; empty: all are. kNoToken, which draws nothing: every
  // token that is allowed has the logit -inf.
  TokenId Sample(std::span<const float> logits, std::span<const TokenId> history,
                 std::span<const std::uint64_t> allowed = {});

 private:
  SamplerOptions options_;
  std::mt19937_64 random_;
  struct Candidate {
    TokenId id;
    float logit;
    double p;
  };
  std::vector<Candidate> candidates_;
  std::vector<float> adjusted_;
};

struct TokenLogprob {
  TokenId id = kNoToken;
  double logprob = 0;
};
// The `k` highest of log_softmax(logits), highest first, lowest id first on ties.
std::vector<TokenLogprob> TopLogprobs(std::span<const float> logits, std::size_t k);
// log_softmax(logits)[id], summed in double.
double LogprobOf(std::span<const float> logits, TokenId id);

}  // namespace vt
