// WordPiece: normalise, split into words, cover each word with the longest tokens from the left.
//
// In GGUF files the pieces that begin a word have U+2581 before them, where BERT's own vocabulary
// marks the others with ##.

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "formats/tokenizer/text_encoder.h"
#include "formats/tokenizer/unicode.h"

namespace vt::tok {
namespace {

class WordPieceEncoder final : public TextEncoder {
 public:
  WordPieceEncoder(const Vocabulary& vocabulary, const WordPieceOptions& options)
      : vocabulary_(vocabulary), options_(options) {
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      max_token_ = std::max(max_token_, vocabulary.text(static_cast<TokenId>(id)).size());
    }
  }

  std::unique_ptr<EncodeSession> Begin(std::size_t input_bytes) const override;
  void Encode(std::string_view text, std::vector<TokenId>& out) const;

 private:
  void EncodeWord(const std::string& word, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  WordPieceOptions options_;
  std::size_t max_token_ = 0;  // bytes
};

// `word` has its U+2581.
void WordPieceEncoder::EncodeWord(const std::string& word, std::vector<TokenId>& out) const {
  const std::size_t before = out.size();
  const std::string_view text = word;
  for (std::size_t pos = 0; pos < text.size();) {
    TokenId id = kNoToken;
    std::size_t length = std::min(max_token_, text.size() - pos);
    for (; length > 0; --length) {
      id = vocabulary_.FindOrdinary(text.substr(pos, length));
      if (id != kNoToken) break;
    }
    if (id == kNoToken) {  // then the whole word is unknown
      out.resize(before);
      if (options_.unknown != kNoToken) out.push_back(options_.unknown);
      return;
    }
    out.push_back(id);
    pos += length;
  }
}

class WordPieceSession final : public EncodeSession {
 public:
  explicit WordPieceSession(const WordPieceEncoder& encoder) : encoder_(encoder) {}
  void Encode(std::string_view text, bool /*first*/, std::vector<TokenId>& out) override {
    encoder_.Encode(text, out);
  }

 private:
  const WordPieceEncoder& encoder_;
};

std::unique_ptr<EncodeSession> WordPieceEncoder::Begin(std::size_t /*input_bytes*/) const {
  return std::make_unique<WordPieceSession>(*this);
}

void WordPieceEncoder::Encode(std::string_view text, std::vector<TokenId>& out) const {
  std::string word(kSpaceMark);
  const auto finish = [&] {
    if (word.size() > kSpaceMark.size()) EncodeWord(word, out);
    word.resize(kSpaceMark.size());
  };
  for (std::size_t pos = 0; pos < text.size();) {
    const Utf8Char c = ReadUtf8(text, pos);
    pos += c.length;
    // BERT drops U+FFFD, which is what bytes that are not UTF-8 would become.
    if (c.status != Utf8Status::kValid) continue;
    const char32_t p = options_.strip_accents ? BaseCharacter(c.code_point) : c.code_point;
    if (IsWhiteSpace(p)) {
      finish();
      continue;
    }
    if (p == 0 || p == 0xFFFD || IsControl(p)) continue;
    if (options_.strip_accents && IsMark(p)) continue;
    const bool alone = IsPunctuation(p) || IsIdeograph(p);
    if (alone) finish();
    AppendUtf8(word, options_.lowercase ? ToLower(p) : p);
    if (alone) finish();
  }
  finish();
}

}  // namespace

std::unique_ptr<TextEncoder> MakeWordPieceEncoder(const Vocabulary& vocabulary,
                                                  const WordPieceOptions& options) {
  return std::make_unique<WordPieceEncoder>(vocabulary, options);
}

}  // namespace vt::tok
