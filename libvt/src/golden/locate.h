// Where two configurations of an engine part: the same tokens through both, one at a time, and the
// outputs of their ops compared in order.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "golden/check.h"
#include "golden/golden.h"
#include "vt/engine.h"
#include "vt/gguf.h"

namespace vt {

// An op of one step, in both configurations.
struct OpPlace {
  std::string case_name;
  std::size_t position = 0;  // of the token that was fed
  int layer = -1;            // -1: outside the layers
  std::string place, op;
  std::string kernel, kernel_against;
  double error = 0;  // relative: root of sum (a - b)^2 / sum a^2; infinite where one is not finite
};

// The experts that a router chose for one token.
struct ExpertSet {
  std::vector<std::int32_t> experts;  // best first
  // The lowest score of a chosen expert less the highest of another: how near the choice was.
  // Scores are what the router ranks by: probabilities (or logits, where weights are of the chosen
  // alone) with the selection bias. Below 0 where groups of experts overrule the scores; NaN where
  // the engine shows no logits.
  double margin = NAN;
};

struct ExpertPlace {
  std::string case_name;
  std::size_t position = 0;
  int layer = 0;
  ExpertSet ours, against;
};

struct LocateReport {
  std::string against;  // as the user wrote it
  double tolerance = 0;
  std::size_t compared = 0;                // outputs of ops
  std::size_t unmatched = 0;               // that only one configuration has
  std::optional<OpPlace> not_identical;    // the first that is not the same to the bit
  std::optional<OpPlace> above_tolerance;  // the first that is further off than that
  std::size_t choices = 0;                 // of experts, in both: tokens times layers with a router
  std::size_t other_choices = 0;           // whose sets of experts differ
  std::optional<ExpertPlace> other_experts;  // the first of them
  // The largest error of an output of each layer, in order; -1: before and after the layers.
  std::vector<std::pair<int, double>> layers;
};

// Both engines run `tokens` of the case. Each must have been loaded with its recorder's hook.
class OpRecorder {
 public:
  std::function<Status(const OpEvent&)> Hook();

  struct Output {
    int layer;
    std::string place, op, kernel;
    std::vector<float> values;
    std::vector<std::int32_t> numbers;
  };
  std::vector<Output> outputs;
};

struct LocateSide {
  Engine* engine = nullptr;
  OpRecorder* recorder = nullptr;
  const GgufFile* file = nullptr;  // the model, for its selection biases; null: without them
};

// "First" is by position, then in the order of the ops. kInterrupted when cancelled.
Result<LocateReport> Locate(const LocateSide& ours, const LocateSide& against,
                            const std::string& case_name, std::span<const TokenId> tokens,
                            double tolerance, const CheckWatch& watch);

void WriteLocate(const LocateReport& report, JsonWriter& json);
std::string LocateText(const LocateReport& report);

}  // namespace vt
