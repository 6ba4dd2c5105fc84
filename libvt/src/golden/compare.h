// One case of a golden against logits made now: verdicts of tokens and distances of rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden/golden.h"
#include "vt/tokenizer.h"

namespace vt {

// kNearTie: another token, where the golden's own margin is below the limit and our choice is its
// runner-up. Where the golden does not say which token that was, our own logits must be as near a
// tie between its token and ours.
enum class TokenVerdict { kSame, kNearTie, kWrong };
std::string_view NameOf(TokenVerdict verdict);  // "same", "near-tie", "wrong"

// What counts as the same. A distance above its limit makes a case wrong whatever its tokens.
struct CheckLimits {
  double tie = 0.01;     // margin below which two tokens are as good as each other
  double kl = 1e-4;      // mean KL divergence of a case's rows
  double logprob = 0.1;  // largest difference of one log-probability
  double margin = 0.05;  // largest difference of a margin
  double nmse = 1e-5;    // largest of a row; dense rows alone
  // Largest relative error of what a layer left, as SketchError estimates it.
  double layer = 0.02;
  bool allow_ties = false;
};

// A token that is not the golden's. Logits are unknown (NaN) where the golden has no row there.
struct Departure {
  std::size_t index = 0;  // of the generated tokens
  TokenVerdict verdict = TokenVerdict::kWrong;
  TokenId golden = kNoToken, ours = kNoToken;
  std::string golden_text, our_text;  // empty without a tokenizer
  double golden_logit = NAN;          // the golden's logit of its token, and of ours
  double golden_logit_of_ours = NAN;
  double our_logit = NAN;  // our logit of our token, and of the golden's
  double our_logit_of_golden = NAN;
  double golden_margin = NAN;
};

struct RowDistance {
  double kl = 0;       // KL(golden || ours); what the golden's row leaves out is one outcome
  double logprob = 0;  // largest difference of a log-probability that the golden's row names
  TokenId logprob_id = kNoToken;
  double nmse = NAN;                      // of dense rows: sum (a - b)^2 / sum b^2
  std::size_t top_k = 0, top_k_hits = 0;  // of the golden's k highest, how many are among ours
  std::size_t nans = 0;
};
RowDistance CompareRow(const GoldenRow& golden, std::span<const float> logits);

enum class CaseState { kSame, kNearTies, kWrong, kSkipped };
std::string_view NameOf(CaseState state);  // "same", "near-ties", "wrong", "skipped"

// The largest of a distance, and where.
struct Worst {
  double value = 0;
  std::size_t row = 0;
};

// What a layer left at a position, and how far that is off.
struct CheckpointPlace {
  int layer = 0;
  CheckpointWhat what = CheckpointWhat::kStream;
  std::size_t row = 0;
  double error = 0;
};

struct CaseReport {
  std::string name;
  CaseState state = CaseState::kSkipped;
  std::vector<std::string> reasons;  // why it is not the same; of a skipped case, why

  std::size_t tokens = 0;  // that the golden generated
  std::size_t same = 0, ties = 0, wrong = 0;
  std::size_t unchecked = 0;          // beyond the end of a finished run
  std::vector<Departure> departures;  // by index; the first is where the texts part

  std::size_t rows = 0;  // compared: 0 where the golden or the run has no logits
  double mean_kl = NAN;
  Worst kl, logprob, margin, nmse;  // margin: .row is the generated token
  std::size_t margins = 0;          // compared
  bool dense = false;
  std::size_t top_k = 0;
  double top_k_agreement = NAN;
  std::size_t nan_count = 0;
  std::optional<double> peer_mean_kl;

  std::size_t checkpoint_rows = 0;  // compared: 0 where the golden has none
  std::optional<CheckpointPlace> worst_checkpoint;
  // The first above the limit: by position, then in the order in which a model computes. What came
  // before it was right, so the fault is there.
  std::optional<CheckpointPlace> first_checkpoint;
  std::vector<std::string> missing_checkpoints;  // "layer 9, stream": this model has no such
};

// Rows in order in, one report out. Rows are those of Replay: after each prompt token, then after
// each generated token of the golden but the last.
class CaseChecker {
 public:
  // The arguments outlive the checker; `tokenizer` may be null.
  CaseChecker(const GoldenCase& golden, const CheckLimits& limits, const Tokenizer* tokenizer);
  void Take(std::size_t row, std::span<const float> logits);
  // What the same run left of its layers, once, after the last row.
  void TakeCheckpoints(const std::vector<GoldenCheckpoint>& ours);
  CaseReport Finish();

 private:
  void TakeChoice(std::size_t index, std::span<const float> logits);

  const GoldenCase& golden_;
  const CheckLimits& limits_;
  const Tokenizer* tokenizer_;
  CaseReport report_;
  std::size_t taken_ = 0;
  double kl_sum_ = 0;
  std::size_t top_k_hits_ = 0, top_k_wanted_ = 0;
};

// A token that is not the golden's, as far as the golden tells. Near-tie where the golden's margin
// there is below the limit and `ours` is its second.
Departure DepartureAt(const GoldenCase& golden, std::size_t index, TokenId ours,
                      const CheckLimits& limits, const Tokenizer* tokenizer);

// Rows [0, rows) of the golden's checkpoints, each against the one of `ours` for its layer; those
// that `ours` lacks are missing_checkpoints.
void CompareCheckpoints(const std::vector<GoldenCheckpoint>& golden,
                        const std::vector<GoldenCheckpoint>& ours, std::size_t rows,
                        const CheckLimits& limits, CaseReport* report);

// Sets the state from the counts and distances, with the reasons.
void JudgeCase(const CheckLimits& limits, CaseReport* report);

// The text of a token for a report; empty without a tokenizer.
std::string TokenText(const Tokenizer* tokenizer, TokenId id);

}  // namespace vt
