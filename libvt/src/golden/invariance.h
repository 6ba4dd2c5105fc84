// The same cases computed in other ways, whose logits must be the same to the bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "golden/check.h"
#include "golden/golden.h"
#include "vt/engine.h"

namespace vt {

struct RowDifference {
  std::string case_name;
  std::size_t row = 0;
  TokenId token = 0;  // the first whose logit differs
  float expected = 0, got = 0;
};

struct VariantReport {
  std::string variant;  // "threads 1", "ubatch 7", "batch of 3"
  std::size_t rows = 0;
  std::size_t different = 0;
  std::optional<RowDifference> first;
};

struct InvarianceReport {
  std::size_t rows = 0;  // of the run that the others are compared with
  std::vector<VariantReport> variants;
  bool same() const;
};

// Loads an engine with other options, one at a time.
using EngineLoader = std::function<Result<std::unique_ptr<Engine>>(const EngineOptions&)>;

// Compares each way with one run of prompt and answer by the options as they are: 1 and 2 threads,
// prompts in steps of 1, 7 and 512 tokens, all cases in one batch, and a prompt whose beginning is
// reused (where it is long enough: a page of 64 positions).
Result<InvarianceReport> CheckInvariance(const Golden& golden, const EngineOptions& options,
                                         const EngineLoader& load, const CheckWatch& watch);

void WriteInvariance(const InvarianceReport& report, JsonWriter& json);
std::string InvarianceText(const InvarianceReport& report);

}  // namespace vt
