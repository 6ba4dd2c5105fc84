// What other programs answered, as goldens.
//
// A file holds one answer, an array of answers, or one a line (JSON Lines). An answer is what the
// program sent, perhaps wrapped as {"name", "request", "response"}; the name, and the prompt where
// the program does not repeat it, come from the wrapping. docs/json/vt.golden.md lists the keys
// that are read of each form.
//
// Sources: answers of llama-server b11434, vLLM 0.32 and transformers 5.24
// (tests/data/golden-import) and what their sources say of the rest; OpenAI's API reference
// (completions and chat completions, logprobs).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "golden/golden.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

// The prompt that a conversation is: {"messages", "tools"?, "chat_template_kwargs"?} as JSON text.
using ConversationTokens =
    std::function<Result<std::vector<TokenId>>(std::string_view conversation)>;

// `form` is "llama-server", "vllm", "openai-logprobs" or "hf". `tokenizer` turns prompts and tokens
// given as text into ids, `conversation` messages; null: there must be ids. Rows hold
// log-probabilities (their log-sum-exp is 0) but for hf's, which are logits. kInvalid: what is
// missing or wrong with its place, an answer that is not greedy, text without a tokenizer, a prompt
// that has not as many tokens as the program counted.
Result<Golden> ImportGolden(std::string_view form, std::string_view text,
                            const Tokenizer* tokenizer,
                            const ConversationTokens& conversation = nullptr);

}  // namespace vt
