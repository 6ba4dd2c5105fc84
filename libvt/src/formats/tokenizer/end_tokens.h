// Which tokens end a generation, and why.
#pragma once

#include <vector>

#include "formats/tokenizer/vocabulary.h"
#include "vt/gguf.h"
#include "vt/tokenizer.h"

namespace vt::tok {

// By id, each once: what the file's keys name and well-known texts, for files that name too few.
// Tokens with a well-known text become control tokens where the file calls them something else, so
// that user text cannot end a turn.
Result<std::vector<TokenizerFacts::EndToken>> FindEndTokens(const GgufFile& file,
                                                            Vocabulary& vocabulary, TokenId eos);

}  // namespace vt::tok
