// Goldens (vt.golden/1): what a model answered once, to compare later answers with.
// docs/json/vt.golden.md describes the document.
//
// Goal: a file of kilobytes holds all that a verdict needs: the prompt's ids, the greedy tokens,
// how near the runner-up was, the highest logits with the log-sum-exp of all, and, where asked for,
// sketches of what layers left. Non-goal: whole activations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "golden/sketch.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

inline constexpr std::string_view kGoldenSchema = "vt.golden/1";
inline constexpr std::string_view kCheckpointForm = "norm, 8 sums of signs";

struct GoldenModel {
  std::optional<std::string> file;            // without folders
  std::optional<std::string> digest;          // of the header, as GgufFile::HeaderDigest
  std::optional<std::string> content_digest;  // as GgufFile::ContentDigest
  std::optional<std::string> sha256;          // of the file's bytes; of a split, of all in order
  std::optional<std::int64_t> vocab;
};

// Who gave the answers.
struct GoldenOracle {
  std::optional<std::string> name;
  std::optional<std::string> version;
  std::optional<std::string> settings;
};

// Logits after one token. One of the two forms.
struct GoldenRow {
  std::vector<float> dense;                     // [vocab]
  double lse = 0;                               // log-sum-exp over the vocabulary
  std::vector<std::pair<TokenId, double>> top;  // highest first
  bool known() const { return !dense.empty() || !top.empty(); }
};

// In the order in which a layer computes them: the weighted sum of its chosen experts, the residual
// stream after it.
enum class CheckpointWhat { kExperts, kStream };
std::string_view NameOf(CheckpointWhat what);  // "experts", "stream"

// What a layer left after each token of the prompt, then of the answer but the last.
struct GoldenCheckpoint {
  int layer = 0;
  CheckpointWhat what = CheckpointWhat::kStream;
  std::vector<Sketch> rows;
};

struct GoldenCase {
  std::string name;
  std::optional<std::string> prompt_text;
  std::vector<TokenId> prompt;
  std::vector<TokenId> generated;  // greedy
  // Top-1 minus top-2 logit at each generated token, NaN where unknown.
  std::vector<double> margins;
  std::vector<GoldenRow> rows;  // row i: after prompt token i; empty: none recorded
  // Row i: those that chose generated token i + 1 (row 0 of the answer is the prompt's last).
  std::vector<GoldenRow> generated_rows;
  std::vector<GoldenCheckpoint> checkpoints;  // each layer and what once
  std::optional<double> peer_mean_kl;  // how far another runtime was off, where the file says
};

struct Golden {
  GoldenModel model;
  GoldenOracle oracle;
  std::string settings_json = "null";  // of the run that was recorded, one JSON object or null
  std::vector<GoldenCase> cases;
};

// What a document says of its own size, so that a part cannot pass for the whole.
struct GoldenCounts {
  std::size_t cases = 0, prompt_tokens = 0, generated_tokens = 0;
  std::size_t checkpoint_rows = 0;
};
GoldenCounts CountOf(const Golden& golden);

// Reads a document. kInvalid: a syntax error with its byte, a key that is missing or wrong with its
// JSON pointer, lists whose lengths disagree (also with the document's own counts), rows that no
// logits can have (a log-sum-exp below that of the row's own logits, an order that is not falling).
// Keys that are not known are left alone.
Result<Golden> ParseGolden(std::string_view text);

// The keys from "model" on. Numbers carry six significant digits.
void WriteGoldenBody(const Golden& golden, JsonWriter& json);

// kInvalid names the first id outside [0, vocab).
Status CheckGoldenIds(const Golden& golden, std::int64_t vocab);

// The row of the logits that chose generated token `index`; null where none was recorded.
const GoldenRow* RowThatChose(const GoldenCase& golden, std::size_t index);

// The margin at generated token `index`: as the golden says, else of the row that chose it; NaN
// where neither is known. The runner-up of the row; kNoToken where it names none.
double MarginAt(const GoldenCase& golden, std::size_t index);
TokenId SecondAt(const GoldenCase& golden, std::size_t index);

// The highest `k` logits as a row.
GoldenRow TopRow(std::span<const float> logits, std::size_t k);
double LogSumExp(std::span<const float> logits);

// Whether a row's highest logits can be of a row with its log-sum-exp, six digits of each given.
bool IsPossible(const GoldenRow& row);

}  // namespace vt
