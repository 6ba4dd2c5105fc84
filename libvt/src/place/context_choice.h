// A context that was chosen by what fits (--ctx auto), and how to look for it.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_writer.h"
#include "plan/memory_plan.h"
#include "vt/model_spec.h"

namespace vt {

// Contexts are tried in whole blocks of the KV cache.
inline constexpr auto kContextBlock = static_cast<std::uint64_t>(kPageCells);

struct ContextChoice {
  std::uint64_t from = 0;  // what was asked for: TrainedContext
  std::uint64_t to = 0;
  std::string why;  // empty: nothing was reduced
};

// "context reduced from 131072 to 8192: at 131072 ..": empty where nothing was.
std::string ReducedText(const ContextChoice& choice);
// {"from", "to", "why"}
void WriteContextChoice(JsonWriter& json, const ContextChoice& choice);

// The most positions that a plan can have: of a model with a table of positions, the table's.
std::uint64_t MostPositions(const ModelSpec& spec);
// The context that the model was trained for, 4096 where it does not say; at most MostPositions.
std::uint64_t TrainedContext(const ModelSpec& spec);

// The largest number from `low` on that `fits`, which holds for `low`, not for `high`, and for all
// below one that it holds for.
template <class Fits>
std::uint64_t LargestThatFits(std::uint64_t low, std::uint64_t high, Fits fits) {
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace vt
