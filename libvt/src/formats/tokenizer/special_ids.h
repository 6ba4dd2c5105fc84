// The ids that metadata keys give a meaning, and the flags that say when they are added.
#pragma once

#include <string_view>

#include "formats/tokenizer/pre_rules.h"
#include "formats/tokenizer/vocabulary.h"
#include "vt/gguf.h"
#include "vt/tokenizer.h"

namespace vt::tok {

inline constexpr std::string_view kEosKey = "tokenizer.ggml.eos_token_id";

// The id under `key`, or `missing`. kCorrupt when it is outside the vocabulary.
Result<TokenId> ReadTokenId(const GgufFile& file, const Vocabulary& vocabulary,
                            std::string_view key, TokenId missing);

// Fills the ids and the add_ flags of `facts`; facts.model is set. `rule` is null for models
// without a pre-tokenizer.
Status ReadSpecialIds(const GgufFile& file, const Vocabulary& vocabulary, const PreRule* rule,
                      TokenizerFacts& facts);

}  // namespace vt::tok
