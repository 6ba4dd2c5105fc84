// A golden against a model: is it the one, and does it still answer so?
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "golden/checkpoint.h"
#include "golden/compare.h"
#include "golden/golden.h"
#include "vt/engine.h"
#include "vt/gguf.h"

namespace vt {

// One digest that the golden carries, against the file's.
struct DigestCheck {
  std::string kind;  // "digest", "content_digest", "sha256"
  std::string golden, model;
  bool same() const { return golden == model; }
};

// The digests of a file, each made when it is first asked for.
class FileDigests {
 public:
  explicit FileDigests(const GgufFile& file) : file_(file) {}
  const std::string& Header();
  const std::string& Content();
  const std::string& Sha256Hex();  // of all shards' bytes in order

 private:
  const GgufFile& file_;
  std::optional<std::string> header_, content_, sha256_;
};

// Compares what the golden carries, cheapest first, and stops at the first that differs. Of
// content_digest and sha256 only the first is compared: either reads the whole file. Empty when the
// golden carries none.
std::vector<DigestCheck> CompareDigests(const GoldenModel& golden, FileDigests& file);
// kInvalid: the digests differ.
Status CheckDigests(const GoldenModel& golden, const std::vector<DigestCheck>& digests);

struct CheckWatch {
  const std::atomic<bool>* cancel = nullptr;                          // set: kInterrupted
  std::function<void(std::size_t done, std::size_t total)> progress;  // rows of all cases
  // Whose hook the engine was loaded with: what a golden with checkpoints needs.
  CheckpointRecorder* checkpoints = nullptr;
};

// The options of an engine that can run all cases: the context is raised to what the longest needs
// where it is less.
EngineOptions EngineOptionsFor(const Golden& golden, EngineOptions options);

// Runs every case: the prompt, then the golden's own tokens, so that a token that differs does not
// hide those after it. kInvalid: ids outside the vocabulary, a case beyond the context. kInternal:
// the golden has checkpoints, and `watch` no recorder.
Result<std::vector<CaseReport>> CheckCases(const Golden& golden, Engine& engine,
                                           const Tokenizer* tokenizer, const CheckLimits& limits,
                                           const CheckWatch& watch);

}  // namespace vt
