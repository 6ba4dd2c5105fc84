#include "vt/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace vt {
namespace {

std::string Shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

Status CheckRange(const char* name, double value, double min, double max) {
  if (value >= min && value <= max) return {};
  return InvalidError(std::string(name) + ": " + Shown(value) + " is out of range (allowed " +
                      Shown(min) + " to " + Shown(max) + ")");
}

bool HasPenalties(const SamplerOptions& o) {
  return o.penalty_window != 0 &&
         (o.repeat_penalty != 1.0f || o.presence_penalty != 0.0f || o.frequency_penalty != 0.0f);
}

}  // namespace

Status CheckSamplerOptions(const SamplerOptions& o, std::int64_t vocab) {
  constexpr double kMost = 1e9;
  VT_RETURN_IF_ERROR(CheckRange("temperature", o.temperature, 0, 1000));
  VT_RETURN_IF_ERROR(CheckRange("top-k", static_cast<double>(o.top_k), 0, kMost));
  VT_RETURN_IF_ERROR(CheckRange("top-p", o.top_p, 0, 1));
  VT_RETURN_IF_ERROR(CheckRange("min-p", o.min_p, 0, 1));
  VT_RETURN_IF_ERROR(CheckRange("typical-p", o.typical_p, 0, 1));
  VT_RETURN_IF_ERROR(CheckRange("repeat-penalty", o.repeat_penalty, 1e-3, 1000));
  VT_RETURN_IF_ERROR(CheckRange("presence-penalty", o.presence_penalty, -1000, 1000));
  VT_RETURN_IF_ERROR(CheckRange("frequency-penalty", o.frequency_penalty, -1000, 1000));
  VT_RETURN_IF_ERROR(
      CheckRange("penalty-window", static_cast<double>(o.penalty_window), -1, kMost));
  for (const auto& [id, bias] : o.logit_bias) {
    if (id < 0 || id >= vocab) {
      return InvalidError("logit-bias: token id " + std::to_string(id) +
                          " is outside the vocabulary (0 to " + std::to_string(vocab - 1) + ")");
    }
    if (std::isnan(bias))
      return InvalidError("logit-bias: the bias of token " + std::to_string(id) +
                          " is not a number");
  }
  return {};
}

std::vector<std::string> ActiveSamplers(const SamplerOptions& o) {
  std::vector<std::string> names;
  if (!o.logit_bias.empty()) names.push_back("logit-bias");
  if (o.penalty_window != 0) {
    if (o.repeat_penalty != 1.0f) names.push_back("repeat-penalty " + Shown(o.repeat_penalty));
    if (o.presence_penalty != 0.0f)
      names.push_back("presence-penalty " + Shown(o.presence_penalty));
    if (o.frequency_penalty != 0.0f)
      names.push_back("frequency-penalty " + Shown(o.frequency_penalty));
  }
  if (o.temperature == 0.0f) {
    names.push_back("greedy");
    return names;
  }
  if (o.top_k > 0) names.push_back("top-k " + std::to_string(o.top_k));
  if (o.typical_p < 1.0f) names.push_back("typical-p " + Shown(o.typical_p));
  if (o.top_p < 1.0f) names.push_back("top-p " + Shown(o.top_p));
  if (o.min_p > 0.0f) names.push_back("min-p " + Shown(o.min_p));
  names.push_back("temperature " + Shown(o.temperature));
  return names;
}

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), random_(options_.seed) {}

namespace {

void ApplyPenalties(const SamplerOptions& o, std::span<const TokenId> history,
                    std::span<float> logits) {
  std::size_t window = history.size();
  if (o.penalty_window >= 0) window = std::min(window, static_cast<std::size_t>(o.penalty_window));
  std::map<TokenId, int> counts;
  for (TokenId id : history.last(window)) ++counts[id];
  for (const auto& [id, count] : counts) {
    if (id < 0 || static_cast<std::size_t>(id) >= logits.size()) continue;
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit > 0 ? logit / o.repeat_penalty : logit * o.repeat_penalty;
    logit -= static_cast<float>(count) * o.frequency_penalty + o.presence_penalty;
  }
}

void Mask(std::span<const std::uint64_t> allowed, std::span<float> logits) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool is_allowed = i / 64 < allowed.size() && (allowed[i / 64] >> (i % 64) & 1) != 0;
    if (!is_allowed) logits[i] = -std::numeric_limits<float>::infinity();
  }
}

TokenId Highest(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Sets p to the softmax of the logits; the first candidate has the highest.
template <class Candidates>
void Softmax(Candidates& candidates) {
  double sum = 0;
  const double top = static_cast<double>(candidates.front().logit);
  for (auto& c : candidates) {
    c.p = std::exp(static_cast<double>(c.logit) - top);
    sum += c.p;
  }
  for (auto& c : candidates) c.p /= sum;
}

// Keeps the candidates whose information is nearest the distribution's entropy, up to `mass`.
// Meister et al. 2022, "Locally Typical Sampling".
template <class Candidates>
void KeepTypical(Candidates& candidates, double mass) {
  Softmax(candidates);
  double entropy = 0;
  for (const auto& c : candidates) {
    if (c.p > 0) entropy -= c.p * std::log(c.p);
  }
  const auto distance = [&](const auto& c) {
    return c.p > 0 ? std::abs(-std::log(c.p) - entropy) : 1e300;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  double sum = 0;
  std::size_t keep = 0;
  while (keep < candidates.size() && sum < mass) sum += candidates[keep++].p;
  candidates.resize(std::max<std::size_t>(1, keep));
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  });
}

template <class Candidates>
void KeepTopP(Candidates& candidates, double mass) {
  Softmax(candidates);
  double sum = 0;
  std::size_t keep = 0;
  while (keep < candidates.size() && sum < mass) sum += candidates[keep++].p;
  candidates.resize(std::max<std::size_t>(1, keep));
}

}  // namespace

TokenId Sampler::Sample(std::span<const float> logits, std::span<const TokenId> history,
                        std::span<const std::uint64_t> allowed) {
  const SamplerOptions& o = options_;
  if (!allowed.empty() || !o.logit_bias.empty() || HasPenalties(o)) {
    adjusted_.assign(logits.begin(), logits.end());
    if (!allowed.empty()) Mask(allowed, adjusted_);
    for (const auto& [id, bias] : o.logit_bias) adjusted_[static_cast<std::size_t>(id)] += bias;
    if (HasPenalties(o)) ApplyPenalties(o, history, adjusted_);
    logits = adjusted_;
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    if (!allowed.empty() &&
        std::all_of(logits.begin(), logits.end(), [](float logit) { return logit == kNever; })) {
      return kNoToken;
    }
  }
  if (o.temperature == 0.0f) return Highest(logits);

  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -std::numeric_limits<float>::infinity()) {
      candidates_.push_back({static_cast<TokenId>(i), logits[i], 0});
    }
  }
  if (candidates_.empty()) return Highest(logits);
  const auto higher = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  std::size_t keep = candidates_.size();
  if (o.top_k > 0) keep = std::min(keep, static_cast<std::size_t>(o.top_k));
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(keep),
                    candidates_.end(), higher);
  candidates_.resize(keep);
  if (o.typical_p < 1.0f) KeepTypical(candidates_, o.typical_p);
  if (o.top_p < 1.0f) KeepTopP(candidates_, o.top_p);
  if (o.min_p > 0.0f) {
    const float floor = candidates_.front().logit + std::log(o.min_p);
    while (candidates_.size() > 1 && candidates_.back().logit < floor) candidates_.pop_back();
  }
  for (Candidate& c : candidates_) c.logit /= o.temperature;
  Softmax(candidates_);
  // 53 bits of the generator, in [0, 1).
  double draw = static_cast<double>(random_() >> 11) * 0x1.0p-53;
  for (const Candidate& c : candidates_) {
    draw -= c.p;
    if (draw < 0) return c.id;
  }
  return candidates_.back().id;
}

namespace {

double LogSumExp(std::span<const float> logits) {
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (float v : logits) sum += std::exp(static_cast<double>(v) - top);
  return top + std::log(sum);
}

}  // namespace

std::vector<TokenLogprob> TopLogprobs(std::span<const float> logits, std::size_t k) {
  std::vector<TokenLogprob> all(logits.size());
  const double total = LogSumExp(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    all[i] = {static_cast<TokenId>(i), static_cast<double>(logits[i]) - total};
  }
  k = std::min(k, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k), all.end(),
                    [](const TokenLogprob& a, const TokenLogprob& b) {
                      return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
                    });
  all.resize(k);
  return all;
}

double LogprobOf(std::span<const float> logits, TokenId id) {
  return static_cast<double>(logits[static_cast<std::size_t>(id)]) - LogSumExp(logits);
}

}  // namespace vt
