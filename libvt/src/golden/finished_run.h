// What vt-run wrote (vt.run/1), against a golden: tokens alone, since a run carries no logits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "golden/compare.h"
#include "golden/golden.h"

namespace vt {

struct RunAnswer {
  std::size_t line = 0;                        // of the document, from 1
  std::optional<std::string> name;             // the prompt's "id", where it has one
  std::string line_name;                       // "line-N" of the input, as vt-golden record says
  std::optional<std::vector<TokenId>> prompt;  // known of a single prompt
  std::optional<std::size_t> prompt_tokens;
  std::vector<TokenId> tokens;
  std::string stop;   // "end_token", ...
  std::string error;  // why there is no answer
};

struct FinishedRun {
  std::optional<std::string> model_file, model_digest;
  std::optional<double> temperature;  // of the whole run, where it says
  std::vector<RunAnswer> answers;
};

// The records of `vt-run --json`, `--jsonl` or both. kInvalid: a line that is no such record (with
// its number and byte), a run that failed or was cut off.
Result<FinishedRun> ParseFinishedRun(std::string_view text);

// Finds the answer of each case: by name or line, else by the prompt's ids, else (where no answer
// has either, and there are as many as cases) by order. A case without an answer is kSkipped. What
// follows the first token that differs is a text of its own and stays unchecked; so does what the
// golden has beyond an end token at which the run stopped.
// kInvalid: a run that was sampled.
Result<std::vector<CaseReport>> CheckFinishedRun(const Golden& golden, const FinishedRun& run,
                                                 const CheckLimits& limits,
                                                 const Tokenizer* tokenizer);

}  // namespace vt
