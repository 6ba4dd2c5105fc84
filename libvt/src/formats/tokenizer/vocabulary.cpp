#include "formats/tokenizer/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "formats/file_error.h"

namespace vt::tok {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTokenType = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";

// Bytes that print as themselves keep their code point; the others take U+0100, U+0101, ... in
// order (GPT-2's encoder).
struct ByteAlphabet {
  static constexpr std::size_t kChars = 0x144;
  std::array<std::string, 256> chars;
  std::array<std::int16_t, kChars> bytes;  // by code point, -1 for none

  ByteAlphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool prints = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const char32_t code_point = prints ? byte : next++;
      AppendUtf8(chars[byte], code_point);
      bytes[code_point] = static_cast<std::int16_t>(byte);
    }
  }
};

const ByteAlphabet& Alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

Status WrongLength(const GgufFile& file, std::string_view key, std::uint64_t count,
                   std::uint32_t tokens) {
  return BadKey(file, key,
                std::to_string(count) + " elements (want " + std::to_string(tokens) +
                    ", one per element of " + std::string(kTokens) +
                    "); the file was written wrongly, convert it again");
}

std::string BytesOfByteLevel(std::string_view text) {
  std::string out;
  for (std::size_t pos = 0; pos < text.size();) {
    const Utf8Char c = ReadUtf8(text, pos);
    const int byte = c.status == Utf8Status::kValid && c.code_point < ByteAlphabet::kChars
                         ? Alphabet().bytes[c.code_point]
                         : -1;
    if (byte >= 0) {
      out.push_back(static_cast<char>(byte));
    } else {
      out.append(text.substr(pos, c.length));
    }
    pos += c.length;
  }
  return out;
}

}  // namespace

Status BadKey(const GgufFile& file, std::string_view key, const std::string& what) {
  return FileCorrupt(file.shards().front().path, "key " + Quoted(key) + ": " + what);
}

std::string_view ByteLevelChar(unsigned char byte) { return Alphabet().chars[byte]; }

int ParseByteToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  const int high = digit(text[3]), low = digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string WithSpaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t pos = 0;;) {
    const std::size_t mark = text.find(kSpaceMark, pos);
    out.append(text.substr(pos, mark - pos));
    if (mark == std::string_view::npos) return out;
    out.push_back(' ');
    pos = mark + kSpaceMark.size();
  }
}

void AppendWithMarks(std::string_view text, std::string& out) {
  const auto spaces = static_cast<std::size_t>(std::count(text.begin(), text.end(), ' '));
  out.reserve(out.size() + text.size() + spaces * (kSpaceMark.size() - 1));
  for (const char c : text) {
    if (c == ' ') {
      out += kSpaceMark;
    } else {
      out.push_back(c);
    }
  }
}

Result<Vocabulary> Vocabulary::Load(const GgufFile& file, TextForm form) {
  VT_ASSIGN_OR_RETURN(const GgufValue* tokens, file.GetStringArray(kTokens));
  if (tokens == nullptr) return BadKey(file, kTokens, "missing (want an array of strings)");
  if (tokens->count == 0 || tokens->count > std::numeric_limits<TokenId>::max()) {
    return BadKey(file, kTokens,
                  std::to_string(tokens->count) + " elements (want 1 to 2147483647)");
  }
  Vocabulary vocabulary;
  vocabulary.form_ = form;
  std::size_t bytes = 0;
  for (const std::string_view text : *tokens->strings) bytes += text.size();
  vocabulary.texts_.Reserve(tokens->count, bytes);
  for (const std::string_view text : *tokens->strings) vocabulary.texts_.Append(text);
  VT_RETURN_IF_ERROR(vocabulary.LoadKinds(file));
  VT_RETURN_IF_ERROR(vocabulary.LoadScores(file));
  VT_RETURN_IF_ERROR(vocabulary.LoadBytes(file));
  return vocabulary;
}

Status Vocabulary::LoadKinds(const GgufFile& file) {
  kinds_.assign(size(), TokenKind::kNormal);
  VT_ASSIGN_OR_RETURN(const GgufValue* types, file.GetNumberArray(kTokenType));
  if (types == nullptr) {
    if (form_ != TextForm::kMarkedSpaces) return {};
    for (std::uint32_t id = 0; id < size(); ++id) {
      if (ParseByteToken(texts_.text(id)) >= 0) kinds_[id] = TokenKind::kByte;
    }
    return {};
  }
  if (types->element_type != GgufType::kI32 && types->element_type != GgufType::kU32) {
    return BadKey(file, kTokenType,
                  "array of " + std::string(NameOf(types->element_type)) +
                      " (want i32); the file was written wrongly, convert it again");
  }
  if (types->count != size()) return WrongLength(file, kTokenType, types->count, size());
  // 0 is "undefined", which some converters write for ordinary tokens.
  constexpr TokenKind kKinds[] = {TokenKind::kNormal,  TokenKind::kNormal,      TokenKind::kUnknown,
                                  TokenKind::kControl, TokenKind::kUserDefined, TokenKind::kUnused,
                                  TokenKind::kByte};
  for (std::uint32_t id = 0; id < size(); ++id) {
    const std::int64_t type = types->ElementI64(id).value_or(-1);
    if (type < 0 || type >= static_cast<std::int64_t>(std::size(kKinds))) {
      return BadKey(
          file, kTokenType,
          "element " + std::to_string(id) + " is " + std::to_string(type) + " (want 0 to 6)");
    }
    kinds_[id] = kKinds[type];
  }
  return {};
}

Status Vocabulary::LoadScores(const GgufFile& file) {
  VT_ASSIGN_OR_RETURN(const GgufValue* scores, file.GetNumberArray(kScores));
  if (scores == nullptr) return {};
  if (scores->element_type != GgufType::kF32 && scores->element_type != GgufType::kI32) {
    return BadKey(file, kScores,
                  "array of " + std::string(NameOf(scores->element_type)) +
                      " (want f32); the file was written wrongly, convert it again");
  }
  if (scores->count != size()) return WrongLength(file, kScores, scores->count, size());
  scores_.resize(size());
  for (std::uint32_t id = 0; id < size(); ++id) {
    scores_[id] = static_cast<float>(scores->ElementF64(id).value_or(0.0));
    if (std::isnan(scores_[id])) {
      return BadKey(file, kScores,
                    "element " + std::to_string(id) + " is not a number (want any other value)");
    }
  }
  return {};
}

Status Vocabulary::LoadBytes(const GgufFile& file) {
  byte_tokens_.fill(kNoToken);
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (kinds_[i] != TokenKind::kByte) continue;
    const int byte = ParseByteToken(texts_.text(i));
    if (byte < 0) {
      return BadKey(file, kTokens,
                    "element " + std::to_string(i) + " is a byte token with text " +
                        Quoted(texts_.text(i)) + " (want <0x00> to <0xFF>)");
    }
    TokenId& token = byte_tokens_[static_cast<std::size_t>(byte)];
    if (token == kNoToken) token = static_cast<TokenId>(i);
  }
  if (form_ == TextForm::kByteLevel) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto b = static_cast<unsigned char>(byte);
      if (const TokenId id = FindOrdinary(ByteLevelChar(b)); id != kNoToken) byte_tokens_[b] = id;
    }
  }
  has_all_bytes_ =
      std::find(byte_tokens_.begin(), byte_tokens_.end(), kNoToken) == byte_tokens_.end();
  set_unknown(kNoToken);
  return {};
}

TokenId Vocabulary::FindOrdinary(std::string_view text) const {
  return IfOrdinary(texts_.Find(text));
}

void Vocabulary::FindOrdinary(std::span<const std::string_view> texts,
                              std::span<TokenId> ids) const {
  std::vector<std::uint32_t> found(texts.size());
  texts_.FindMany(texts, found);
  std::transform(found.begin(), found.end(), ids.begin(),
                 [&](std::uint32_t i) { return IfOrdinary(i); });
}

TokenId Vocabulary::IfOrdinary(std::uint32_t found) const {
  if (found == StringTable::kMissing) return kNoToken;
  const auto id = static_cast<TokenId>(found);
  switch (kind(id)) {
    case TokenKind::kNormal:
    case TokenKind::kUnused:
      return id;
    case TokenKind::kUserDefined:
      return form_ == TextForm::kByteLevel ? kNoToken : id;
    case TokenKind::kUnknown:
    case TokenKind::kControl:
    case TokenKind::kByte:
      break;
  }
  return kNoToken;
}

void Vocabulary::set_unknown(TokenId id) {
  replacement_.clear();
  if (form_ != TextForm::kByteLevel) {
    if (const TokenId whole = FindOrdinary(kReplacementUtf8); whole != kNoToken) {
      replacement_ = {whole};
      return;
    }
  }
  for (const char c : kReplacementUtf8) {
    replacement_.push_back(byte_token(static_cast<unsigned char>(c)));
  }
  if (std::find(replacement_.begin(), replacement_.end(), kNoToken) == replacement_.end()) return;
  replacement_.clear();
  if (id != kNoToken) replacement_ = {id};
}

void Vocabulary::AppendReplacement(std::vector<TokenId>& out) const {
  out.insert(out.end(), replacement_.begin(), replacement_.end());
}

std::string Vocabulary::Bytes(TokenId id, bool special) const {
  if (!Has(id)) return {};
  const std::string_view stored = text(id);
  switch (kind(id)) {
    case TokenKind::kUnknown:
    case TokenKind::kControl:
      return special ? std::string(stored) : std::string();
    case TokenKind::kByte:
      return std::string(1, static_cast<char>(ParseByteToken(stored)));
    case TokenKind::kUserDefined:
      return form_ == TextForm::kMarkedSpaces ? WithSpaces(stored) : std::string(stored);
    case TokenKind::kNormal:
    case TokenKind::kUnused:
      break;
  }
  switch (form_) {
    case TextForm::kByteLevel:
      return BytesOfByteLevel(stored);
    case TextForm::kMarkedSpaces:
      return WithSpaces(stored);
    case TextForm::kPlain:
      break;
  }
  return std::string(stored);
}

}  // namespace vt::tok
