// Makes a golden: prompts through the engine, greedily.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "golden/check.h"
#include "golden/golden.h"
#include "vt/engine.h"

namespace vt {

struct RecordPrompt {
  std::string name;
  std::optional<std::string> text;  // as the tokenizer saw it
  std::vector<TokenId> tokens;
  std::size_t max_tokens = 32;
};

struct RecordOptions {
  std::size_t top_k = 40;           // logits kept of a row; 0: all of them
  std::vector<TokenId> end_tokens;  // an answer ends with one of these
  // Whose hook the engine was loaded with; null: no checkpoints are kept.
  CheckpointRecorder* checkpoints = nullptr;
};

// kNo: logits that are not finite, of which no golden can be made. kInvalid: a prompt that does not
// fit the context.
Result<std::vector<GoldenCase>> RecordCases(Engine& engine,
                                            const std::vector<RecordPrompt>& prompts,
                                            const RecordOptions& options, const CheckWatch& watch);

// Digests and size of vocabulary of the file; reads all of it.
GoldenModel DescribeModel(const GgufFile& file, std::int64_t vocab);

}  // namespace vt
