// Text to token ids and back, from the vocabulary in a GGUF file.
//
// Kinds: byte-level BPE ("gpt2") with the pre-tokenizer patterns named by tokenizer.ggml.pre,
// SentencePiece-style with byte fallback ("llama"), WordPiece ("bert"), Gemma-4's ("gemma4").
// A Tokenizer is immutable after Load and may be shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

using TokenId = std::int32_t;
inline constexpr TokenId kNoToken = -1;

enum class TokenKind { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct EncodeOptions {
  bool parse_special = false;  // text such as <|im_end|> becomes the control token
  bool add_special = true;     // BOS / EOS (or CLS / SEP) as the vocabulary asks; see Encode
  // Byte offsets into the text, ascending, across which no special token is read: how text that
  // looks like one, inside a message, stays text.
  std::span<const std::size_t> literal_offsets = {};
};

struct TokenizerFacts {
  std::string model;  // tokenizer.ggml.model
  std::string pre;    // tokenizer.ggml.pre, empty when absent
  std::uint64_t vocab_size = 0;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  bool decode_is_exact = false;  // decode(encode(x)) == x for every byte string
  TokenId bos = kNoToken, eos = kNoToken, unk = kNoToken, sep = kNoToken, pad = kNoToken;
  struct EndToken {
    TokenId id;
    std::string source;  // "tokenizer.ggml.eos_token_id", "well-known text <|im_end|>", ...
  };
  std::vector<EndToken> end_tokens;  // the union that stops generation, by id
};

class Tokenizer {
 public:
  // kUnsupported names a model or pre-tokenizer that is not known with the list of those known;
  // kCorrupt names the key that is wrong (array lengths that differ, ids outside the vocabulary).
  static Result<Tokenizer> Load(const GgufFile& file);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  const TokenizerFacts& facts() const;
  std::uint64_t vocab_size() const;

  // `text` is any bytes; invalid UTF-8 never fails (byte tokens, or U+FFFD where the vocabulary has
  // none). With add_special exactly one BOS leads when the vocabulary adds one, also when the text
  // already starts with it and parse_special is set.
  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  // The bytes of one token; control tokens give nothing unless `special`. The space that
  // add_space_prefix put in front is removed by Decode and by TokenStream, not here.
  std::string Piece(TokenId id, bool special = false) const;
  std::string Decode(std::span<const TokenId> ids, bool special = false) const;

  TokenKind kind(TokenId id) const;
  std::string_view raw_text(TokenId id) const;    // as stored in the file
  TokenId Find(std::string_view raw_text) const;  // kNoToken when absent
  bool IsEnd(TokenId id) const;

 private:
  Tokenizer();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Turns a stream of tokens into text that never splits a UTF-8 character: bytes are held back until
// their character is whole. Flush gives what is left, with U+FFFD for bytes that cannot complete.
class TokenStream {
 public:
  explicit TokenStream(const Tokenizer& tokenizer, bool special = false)
      : tokenizer_(&tokenizer), special_(special) {}
  // `first_of_text`: the token starts a text (not a continuation of a prompt), so a prefix space
  // that the tokenizer added is dropped.
  std::string Push(TokenId id);
  std::string Flush();
  void DropPrefixSpace() { drop_prefix_space_ = true; }

 private:
  const Tokenizer* tokenizer_;
  bool special_;
  bool drop_prefix_space_ = false;
  std::string pending_;
};

}  // namespace vt
