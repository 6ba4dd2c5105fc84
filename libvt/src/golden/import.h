// What other programs answered, as goldens.
//
// A file holds one answer, an array of answers, or one a line (JSON Lines). An answer is what the
// program sent, perhaps wrapped as {"name", "request", "response"}; the name, and the prompt where
// the program does not repeat it, come from the wrapping. docs/json/vt.golden.md lists the keys
// that are read of each form.
//
// Sources: tools/server/README.md of llama.cpp (POST /completion), OpenAI's API reference
// (completions and chat completions, logprobs), vLLM's documentation (vllm.logprobs.Logprob,
// prompt_logprobs, return_token_ids), transformers' generate(return_dict_in_generate).
#pragma once

#include <string_view>

#include "golden/golden.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

// `form` is "llama-server", "vllm", "openai-logprobs" or "hf". `tokenizer` turns prompts and tokens
// given as text into ids; null: they must be ids. Rows hold log-probabilities (their log-sum-exp is
// 0) but for hf's, which are logits. kInvalid: what is missing or wrong with its place, an answer
// that is not greedy, text without a tokenizer.
Result<Golden> ImportGolden(std::string_view form, std::string_view text,
                            const Tokenizer* tokenizer);

}  // namespace vt
