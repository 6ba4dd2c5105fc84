// Runs the tests of a benchmark over one engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/bench_record.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/tokenizer.h"

namespace vt {

struct BenchInput {
  const GgufFile* file = nullptr;
  const ModelSpec* spec = nullptr;
  const Tokenizer* tokenizer = nullptr;  // may be null
  std::vector<TokenId> prompt;           // of --prompt-file; empty: pseudo-random ordinary tokens
};

struct BenchHooks {
  // Work in tokens (of a load in bytes).
  std::function<void(const std::string& label, std::uint64_t done, std::uint64_t total)> progress;
  // With all that has been measured until then: after every test, and between the samples of a
  // long one at most once in two seconds.
  std::function<Status(const BenchRecord&)> on_progress;
  std::string root;  // where /proc and /sys are read
  const std::atomic<bool>* cancel = nullptr;
};

// Ids that are ordinary text: of kind normal, with bytes, and no end of a text; of a model without
// a tokenizer all ids. kInvalid when there are none.
Result<std::vector<TokenId>> OrdinaryTokens(const Tokenizer* tokenizer, std::int64_t vocab);

// Measures `record->settings` and fills the rest of `record`, whose `partial` becomes false at the
// end. On an error `record` keeps what was measured, with the reason. Every prompt begins
// differently, so that none is taken from the prefix cache; what comes before a depth is the same
// and may be.
Status RunBench(const BenchInput& input, const BenchHooks& hooks, BenchRecord* record);

}  // namespace vt
