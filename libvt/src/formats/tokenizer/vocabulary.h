// The token table of a GGUF file: texts, kinds, scores and the ids with a meaning of their own.
//
// Source of the keys: ggml/docs/gguf.md, section "Tokenizer".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer/string_table.h"
#include "vt/gguf.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt::tok {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, a space inside a token

// How the texts of ordinary tokens stand for bytes.
enum class TextForm {
  kByteLevel,     // one character of the GPT-2 alphabet per byte
  kMarkedSpaces,  // UTF-8 with U+2581 for a space, and tokens <0x00> .. <0xFF> for single bytes
  kPlain,         // UTF-8 as it is
};

class Vocabulary {
 public:
  // Errors are kCorrupt and name the key.
  static Result<Vocabulary> Load(const GgufFile& file, TextForm form);

  std::uint32_t size() const { return texts_.size(); }
  bool Has(TokenId id) const { return id >= 0 && static_cast<std::uint32_t>(id) < size(); }
  std::string_view text(TokenId id) const { return texts_.text(static_cast<std::uint32_t>(id)); }
  TokenKind kind(TokenId id) const { return kinds_[static_cast<std::size_t>(id)]; }
  void set_kind(TokenId id, TokenKind kind) { kinds_[static_cast<std::size_t>(id)] = kind; }
  float score(TokenId id) const {
    return scores_.empty() ? 0.0f : scores_[static_cast<std::size_t>(id)];
  }
  TextForm form() const { return form_; }

  TokenId Find(std::string_view text) const {
    const std::uint32_t id = texts_.Find(text);
    return id == StringTable::kMissing ? kNoToken : static_cast<TokenId>(id);
  }
  // The token that ordinary text may become: never a control, unknown or byte token, so text cannot
  // forge one; never a user-defined one of a byte-level vocabulary, whose text is not in its form.
  TokenId FindOrdinary(std::string_view text) const;
  void FindOrdinary(std::span<const std::string_view> texts, std::span<TokenId> ids) const;
  // Whether FindOrdinary(text) is surely `id`; false may also mean that it was not looked up.
  bool IsOrdinary(TokenId id, std::string_view text) const {
    return Has(id) && texts_.all_differ() && this->text(id) == text &&
           IfOrdinary(static_cast<std::uint32_t>(id)) == id;
  }

  // The token of one byte: <0xHH>, or the byte's character in byte-level form.
  TokenId byte_token(unsigned char byte) const { return byte_tokens_[byte]; }
  bool has_all_bytes() const { return has_all_bytes_; }

  // Appends what a byte becomes that has no token: U+FFFD if that can be written, else the unknown
  // token, else nothing.
  void AppendReplacement(std::vector<TokenId>& out) const;
  void set_unknown(TokenId id);

  // The bytes of a token; control and unknown tokens give nothing unless `special`.
  std::string Bytes(TokenId id, bool special) const;

 private:
  TokenId IfOrdinary(std::uint32_t found) const;
  Status LoadKinds(const GgufFile& file);
  Status LoadScores(const GgufFile& file);
  Status LoadBytes(const GgufFile& file);

  TextForm form_ = TextForm::kPlain;
  StringTable texts_;
  std::vector<TokenKind> kinds_;
  std::vector<float> scores_;  // empty when the file has none
  std::array<TokenId, 256> byte_tokens_{};
  bool has_all_bytes_ = false;
  std::vector<TokenId> replacement_;
};

// kCorrupt: "path: key "tokenizer.ggml.x": what".
Status BadKey(const GgufFile& file, std::string_view key, const std::string& what);

// The character of the GPT-2 alphabet that stands for a byte, as UTF-8.
std::string_view ByteLevelChar(unsigned char byte);

// The value of <0xHH>; -1 for any other text.
int ParseByteToken(std::string_view text);

// `text` with U+2581 turned into spaces.
std::string WithSpaces(std::string_view text);

// Appends `text` with spaces turned into U+2581.
void AppendWithMarks(std::string_view text, std::string& out);

}  // namespace vt::tok
