// Runs a prompt and what follows it through an engine, handing out every row of logits.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "vt/engine.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

// Row i: logits after token i of the prompt, then of the answer.
using RowSink = std::function<Status(std::size_t row, std::span<const float> logits)>;

// The prompt in steps of at most `chunk` tokens (0: the engine's ubatch), then the tokens of
// `answer` one a step, but for the last, after which nothing is asked. No prefix is reused.
// kInvalid when the sequence does not fit the context.
Status Replay(Engine& engine, std::span<const TokenId> prompt, std::span<const TokenId> answer,
              std::size_t chunk, const RowSink& sink);

// The same, but the answer is chosen as it goes: `choose` gets the row that chooses answer token
// `index` and gives the token, or kNoToken to end. Rows of the prompt go to `sink` first.
using Chooser = std::function<TokenId(std::size_t index, std::span<const float> logits)>;
Status ReplayAndContinue(Engine& engine, std::span<const TokenId> prompt, std::size_t chunk,
                         const RowSink& sink, const Chooser& choose);

}  // namespace vt
