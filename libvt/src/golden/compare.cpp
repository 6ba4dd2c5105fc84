#include "golden/compare.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <tuple>

namespace vt {
namespace {

constexpr std::size_t kAgreementK = 10;
// The documents carry six digits: a rest of the probability below this is their rounding.
constexpr double kLeastRest = 1e-5;

double At(std::span<const float> logits, TokenId id) {
  return static_cast<double>(logits[static_cast<std::size_t>(id)]);
}

// The highest logit, the lowest id on ties; NaN never wins.
TokenId ArgMax(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best] || std::isnan(logits[best])) best = i;
  }
  return static_cast<TokenId>(best);
}

TokenId SecondMax(std::span<const float> logits, TokenId first) {
  TokenId best = kNoToken;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (id != first && (best == kNoToken || logits[i] > logits[static_cast<std::size_t>(best)])) {
      best = id;
    }
  }
  return best;
}

// The golden's `k` highest ids.
std::vector<TokenId> HighestIds(const GoldenRow& row, std::size_t k) {
  std::vector<TokenId> ids;
  if (!row.dense.empty()) {
    for (const auto& entry : TopRow(row.dense, k).top) ids.push_back(entry.first);
    return ids;
  }
  for (const auto& entry : row.top) {
    if (ids.size() < k) ids.push_back(entry.first);
  }
  return ids;
}

void CompareEntry(TokenId id, double log_p, double log_q, RowDistance* out) {
  const double p = std::exp(log_p);
  if (p > 0) out->kl += p * (log_p - log_q);
  const double off = std::abs(log_p - log_q);
  if (off > out->logprob) {
    out->logprob = off;
    out->logprob_id = id;
  }
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

double GoldenLogit(const GoldenRow* row, TokenId id) {
  if (!row) return NAN;
  if (!row->dense.empty()) return At(row->dense, id);
  for (const auto& [seen, logit] : row->top) {
    if (seen == id) return logit;
  }
  return NAN;
}

}  // namespace

Departure DepartureAt(const GoldenCase& golden, std::size_t index, TokenId ours,
                      const CheckLimits& limits, const Tokenizer* tokenizer) {
  const GoldenRow* row = RowThatChose(golden, index);
  Departure part;
  part.index = index;
  part.golden = golden.generated[index];
  part.ours = ours;
  part.golden_text = TokenText(tokenizer, part.golden);
  part.our_text = TokenText(tokenizer, ours);
  part.golden_logit = GoldenLogit(row, part.golden);
  part.golden_logit_of_ours = GoldenLogit(row, ours);
  part.golden_margin = MarginAt(golden, index);
  // False where the margin is unknown.
  const bool tie = part.golden_margin < limits.tie && SecondAt(golden, index) == ours;
  part.verdict = tie ? TokenVerdict::kNearTie : TokenVerdict::kWrong;
  return part;
}

std::string_view NameOf(TokenVerdict verdict) {
  switch (verdict) {
    case TokenVerdict::kSame:
      return "same";
    case TokenVerdict::kNearTie:
      return "near-tie";
    case TokenVerdict::kWrong:
      return "wrong";
  }
  return "?";
}

std::string_view NameOf(CaseState state) {
  switch (state) {
    case CaseState::kSame:
      return "same";
    case CaseState::kNearTies:
      return "near-ties";
    case CaseState::kWrong:
      return "wrong";
    case CaseState::kSkipped:
      return "skipped";
  }
  return "?";
}

std::string TokenText(const Tokenizer* tokenizer, TokenId id) {
  if (!tokenizer || id < 0 || static_cast<std::uint64_t>(id) >= tokenizer->vocab_size()) return {};
  return tokenizer->Piece(id, true);
}

RowDistance CompareRow(const GoldenRow& golden, std::span<const float> logits) {
  RowDistance out;
  out.nans = static_cast<std::size_t>(
      std::count_if(logits.begin(), logits.end(), [](float v) { return !std::isfinite(v); }));
  if (out.nans > 0) {
    out.kl = out.logprob = std::numeric_limits<double>::infinity();
    if (!golden.dense.empty()) out.nmse = out.kl;
    return out;
  }
  const double lse = LogSumExp(logits);
  if (!golden.dense.empty()) {
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double want = static_cast<double>(golden.dense[i]);
      const double got = static_cast<double>(logits[i]);
      CompareEntry(static_cast<TokenId>(i), want - golden.lse, got - lse, &out);
      error += (got - want) * (got - want);
      power += want * want;
    }
    out.nmse = power > 0 ? error / power : error;
  } else {
    double golden_rest = 1;
    double rest = 1;
    for (const auto& [id, logit] : golden.top) {
      const double log_q = At(logits, id) - lse;
      CompareEntry(id, logit - golden.lse, log_q, &out);
      golden_rest -= std::exp(logit - golden.lse);
      rest -= std::exp(log_q);
    }
    if (golden_rest > kLeastRest && rest > kLeastRest) {
      out.kl += golden_rest * std::log(golden_rest / rest);
    } else if (golden_rest > kLeastRest) {
      out.kl += golden_rest * std::log(golden_rest / kLeastRest);
    }
  }
  const std::vector<TokenId> wanted = HighestIds(golden, kAgreementK);
  out.top_k = wanted.size();
  for (const auto& [id, logit] : TopRow(logits, wanted.size()).top) {
    out.top_k_hits += std::find(wanted.begin(), wanted.end(), id) != wanted.end() ? 1 : 0;
  }
  return out;
}

CaseChecker::CaseChecker(const GoldenCase& golden, const CheckLimits& limits,
                         const Tokenizer* tokenizer)
    : golden_(golden), limits_(limits), tokenizer_(tokenizer) {
  report_.name = golden.name;
  report_.tokens = golden.generated.size();
  report_.peer_mean_kl = golden.peer_mean_kl;
}

void CaseChecker::TakeChoice(std::size_t index, std::span<const float> logits) {
  const TokenId golden = golden_.generated[index];
  const TokenId ours = ArgMax(logits);
  const double margin = golden_.margins[index];
  if (!std::isnan(margin)) {
    // Ours of the golden's token: below 0 where another one is ahead.
    const TokenId rival = ours == golden ? SecondMax(logits, ours) : ours;
    const double ours_margin = rival == kNoToken ? margin : At(logits, golden) - At(logits, rival);
    const double off = std::abs(ours_margin - margin);
    if (!(off <= report_.margin.value)) report_.margin = {off, index};
    ++report_.margins;
  }
  if (ours == golden) {
    ++report_.same;
    return;
  }
  Departure part = DepartureAt(golden_, index, ours, limits_, tokenizer_);
  part.our_logit = At(logits, ours);
  part.our_logit_of_golden = At(logits, golden);
  // Where the golden does not say which token came second, our own logits must nearly tie.
  if (SecondAt(golden_, index) == kNoToken && part.golden_margin < limits_.tie &&
      SecondMax(logits, ours) == golden &&
      part.our_logit - part.our_logit_of_golden < limits_.tie) {
    part.verdict = TokenVerdict::kNearTie;
  }
  ++(part.verdict == TokenVerdict::kNearTie ? report_.ties : report_.wrong);
  report_.departures.push_back(std::move(part));
}

void CaseChecker::Take(std::size_t row, std::span<const float> logits) {
  ++taken_;
  const std::size_t prompt = golden_.prompt.size();
  const GoldenRow* golden = nullptr;
  if (row + 1 < prompt) {
    if (!golden_.rows.empty()) golden = &golden_.rows[row];
  } else if (row + 1 - prompt < golden_.generated.size()) {
    golden = RowThatChose(golden_, row + 1 - prompt);
    TakeChoice(row + 1 - prompt, logits);
  } else if (!golden_.rows.empty() && row + 1 == prompt) {
    golden = &golden_.rows.back();  // nothing was generated
  }
  if (!golden || !golden->known()) {
    report_.nan_count += static_cast<std::size_t>(
        std::count_if(logits.begin(), logits.end(), [](float v) { return !std::isfinite(v); }));
    return;
  }
  const RowDistance off = CompareRow(*golden, logits);
  report_.nan_count += off.nans;
  ++report_.rows;
  kl_sum_ += off.kl;
  if (!(off.kl <= report_.kl.value)) report_.kl = {off.kl, row};
  if (!(off.logprob <= report_.logprob.value)) report_.logprob = {off.logprob, row};
  if (!golden->dense.empty()) {
    report_.dense = true;
    if (!(off.nmse <= report_.nmse.value)) report_.nmse = {off.nmse, row};
  }
  top_k_hits_ += off.top_k_hits;
  top_k_wanted_ += off.top_k;
  report_.top_k = std::max(report_.top_k, off.top_k);
}

void CompareCheckpoints(const std::vector<GoldenCheckpoint>& golden,
                        const std::vector<GoldenCheckpoint>& ours, std::size_t rows,
                        const CheckLimits& limits, CaseReport* report) {
  const auto before = [](const CheckpointPlace& a, const CheckpointPlace& b) {
    return std::tie(a.row, a.layer, a.what) < std::tie(b.row, b.layer, b.what);
  };
  for (const GoldenCheckpoint& point : golden) {
    const auto found = std::find_if(ours.begin(), ours.end(), [&](const GoldenCheckpoint& one) {
      return one.layer == point.layer && one.what == point.what;
    });
    if (found == ours.end()) {
      report->missing_checkpoints.push_back("layer " + std::to_string(point.layer) + ", " +
                                            std::string(NameOf(point.what)));
      continue;
    }
    const std::size_t both = std::min({rows, point.rows.size(), found->rows.size()});
    for (std::size_t row = 0; row < both; ++row) {
      const CheckpointPlace place{point.layer, point.what, row,
                                  SketchError(point.rows[row], found->rows[row])};
      ++report->checkpoint_rows;
      if (!report->worst_checkpoint || place.error > report->worst_checkpoint->error) {
        report->worst_checkpoint = place;
      }
      if (place.error <= limits.layer) continue;
      if (!report->first_checkpoint || before(place, *report->first_checkpoint)) {
        report->first_checkpoint = place;
      }
    }
  }
}

void CaseChecker::TakeCheckpoints(const std::vector<GoldenCheckpoint>& ours) {
  CompareCheckpoints(golden_.checkpoints, ours, taken_, limits_, &report_);
}

CaseReport CaseChecker::Finish() {
  if (report_.rows > 0) report_.mean_kl = kl_sum_ / static_cast<double>(report_.rows);
  if (top_k_wanted_ > 0) {
    report_.top_k_agreement = static_cast<double>(top_k_hits_) / static_cast<double>(top_k_wanted_);
  }
  if (taken_ == 0 || (report_.tokens == 0 && report_.rows == 0)) {
    report_.state = CaseState::kSkipped;
    report_.reasons = {"the golden has neither generated tokens nor logits to compare"};
  } else {
    JudgeCase(limits_, &report_);
  }
  return std::move(report_);
}

void JudgeCase(const CheckLimits& limits, CaseReport* report) {
  const auto over = [&](double value, double limit, std::string_view what, std::size_t row) {
    if (value <= limit) return;
    report->reasons.push_back(std::string(what) + " " + Number(value) + " at " +
                              std::to_string(row) + " is above the limit of " + Number(limit));
  };
  if (report->wrong > 0) {
    report->reasons.push_back(std::to_string(report->wrong) + " of " +
                              std::to_string(report->tokens) + " tokens wrong");
  }
  if (report->ties > 0 && !limits.allow_ties) {
    report->reasons.push_back(std::to_string(report->ties) +
                              " near ties, which count only with --allow-ties");
  }
  if (report->nan_count > 0) {
    report->reasons.push_back(std::to_string(report->nan_count) + " logits are not finite");
  }
  if (report->rows > 0) {
    if (!(report->mean_kl <= limits.kl)) {
      report->reasons.push_back("mean KL " + Number(report->mean_kl) + " is above the limit of " +
                                Number(limits.kl));
    }
    over(report->logprob.value, limits.logprob, "log-probability error (row)", report->logprob.row);
    if (report->dense) over(report->nmse.value, limits.nmse, "NMSE (row)", report->nmse.row);
  }
  if (report->margins > 0) {
    over(report->margin.value, limits.margin, "margin error (token)", report->margin.row);
  }
  if (!report->missing_checkpoints.empty()) {
    report->reasons.push_back("the model has not what the golden keeps of " +
                              report->missing_checkpoints.front());
  }
  if (report->first_checkpoint) {
    const CheckpointPlace& place = *report->first_checkpoint;
    report->reasons.push_back(
        std::string(place.what == CheckpointWhat::kExperts ? "the sum of experts of layer "
                                                           : "the stream after layer ") +
        std::to_string(place.layer) + " is off by " + Number(place.error) + " at row " +
        std::to_string(place.row) + ", above the limit of " + Number(limits.layer));
  }
  report->state = !report->reasons.empty() ? CaseState::kWrong
                  : report->ties > 0       ? CaseState::kNearTies
                                           : CaseState::kSame;
}

}  // namespace vt
