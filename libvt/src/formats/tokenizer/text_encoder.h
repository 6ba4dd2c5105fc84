// What each kind of tokenizer does with ordinary text, between special tokens.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "formats/tokenizer/pre_rules.h"
#include "formats/tokenizer/vocabulary.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt::tok {

// Encodes the stretches of one input, in order. Not for two threads at once.
class EncodeSession {
 public:
  virtual ~EncodeSession() = default;
  // Appends the tokens of `text`, any bytes, which must stay until the session ends; `out` is the
  // same each time. `first`: the stretch begins the input or follows a special token.
  virtual void Encode(std::string_view text, bool first, std::vector<TokenId>& out) = 0;
};

// Immutable; may be shared by threads. Refers to the Vocabulary it was made for.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  virtual std::unique_ptr<EncodeSession> Begin(std::size_t input_bytes) const = 0;
};

// Merges pairs by rank inside words. Reads tokenizer.ggml.merges; kCorrupt names it.
Result<std::unique_ptr<TextEncoder>> MakeBpeEncoder(const GgufFile& file,
                                                    const Vocabulary& vocabulary,
                                                    const PreRule& rule);

// Merges the best-scored pair anywhere in the text, as SentencePiece's BPE models do.
std::unique_ptr<TextEncoder> MakeSpmEncoder(const Vocabulary& vocabulary, bool add_space_prefix);

struct WordPieceOptions {
  bool lowercase = true;
  bool strip_accents = true;
  TokenId unknown = kNoToken;
};
// Splits at white space, punctuation and ideographs; words are the longest tokens from the left.
std::unique_ptr<TextEncoder> MakeWordPieceEncoder(const Vocabulary& vocabulary,
                                                  const WordPieceOptions& options);

}  // namespace vt::tok
