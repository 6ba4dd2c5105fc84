// Byte-pair encoding: inside each word the pair of lowest rank merges first, of equal ones the
// leftmost, until no pair is left.

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "base/utf8.h"
#include "formats/tokenizer/merge_table.h"
#include "formats/tokenizer/pre_tokenizer.h"
#include "formats/tokenizer/segmenter.h"
#include "formats/tokenizer/text_encoder.h"
#include "formats/tokenizer/word_cache.h"

namespace vt::tok {
namespace {

class BpeEncoder final : public TextEncoder {
 public:
  BpeEncoder(const Vocabulary& words, const PreRule& pre_rule, MergeTable merge_table,
             PreTokenizer tokenizer);
  std::unique_ptr<EncodeSession> Begin(std::size_t input_bytes) const override;

  const Vocabulary& vocabulary;
  const PreRule& rule;
  const MergeTable merges;
  const PreTokenizer pre_tokenizer;
  Segmenter segmenter;                     // with space marks
  std::array<Symbol, 256> byte_symbols{};  // with UTF-8 texts only of ASCII
};

class BpeSession final : public EncodeSession {
 public:
  BpeSession(const BpeEncoder& model, std::size_t input_bytes)
      : model_(model), vocabulary_(model.vocabulary), rule_(model.rule), cache_(input_bytes) {}

  void Encode(std::string_view text, bool first, std::vector<TokenId>& out) override;

 private:
  struct Part {
    Symbol symbol = kNoSymbol;
    std::uint32_t previous = 0, next = 0;  // kEnd for none
    std::uint32_t begin = 0, length = 0;   // of the word; length 0: merged into the part before it
  };
  struct Candidate {
    std::uint32_t rank = 0, left = 0;
    Symbol left_symbol = kNoSymbol, right_symbol = kNoSymbol, result = kNoSymbol;
    // For a heap whose top is the candidate to merge first.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;

  void EncodeUtf8(std::string_view text, std::vector<TokenId>& out);
  void EncodeWord(std::string_view word, std::vector<TokenId>& out);
  void EncodePiece(std::string_view word, std::vector<TokenId>& out);
  TokenId WholeWord(std::string_view word);
  void MergeWord(std::string_view word, std::vector<TokenId>& out);
  void AddParts(std::string_view word);
  void Consider(std::uint32_t left);
  void AppendByte(char byte, std::vector<TokenId>& out) const;

  const BpeEncoder& model_;
  const Vocabulary& vocabulary_;
  const PreRule& rule_;
  std::vector<std::string_view> words_;
  std::vector<Part> parts_;  // of the word at hand
  std::vector<Candidate> heap_;
  std::deque<std::string> escaped_;  // runs with space marks; the cache has views of them
  std::string mapped_;
  WordCache cache_;
};

BpeEncoder::BpeEncoder(const Vocabulary& words, const PreRule& pre_rule, MergeTable merge_table,
                       PreTokenizer tokenizer)
    : vocabulary(words),
      rule(pre_rule),
      merges(std::move(merge_table)),
      pre_tokenizer(std::move(tokenizer)) {
  byte_symbols.fill(kNoSymbol);
  for (unsigned byte = 0; byte < (rule.utf8 ? 128u : 256u); ++byte) {
    const char self = static_cast<char>(byte);
    const std::string_view text =
        rule.utf8 ? std::string_view(&self, 1) : ByteLevelChar(static_cast<unsigned char>(byte));
    byte_symbols[byte] = merges.SymbolOf(vocabulary, text);
  }
  if (!rule.space_marks) return;
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    segmenter.Keep(vocabulary.text(static_cast<TokenId>(id)));
  }
  for (std::uint32_t i = 0; i < merges.extras().size(); ++i)
    segmenter.Keep(merges.extras().text(i));
}

std::unique_ptr<EncodeSession> BpeEncoder::Begin(std::size_t input_bytes) const {
  return std::make_unique<BpeSession>(*this, input_bytes);
}

void BpeSession::AppendByte(char byte, std::vector<TokenId>& out) const {
  const TokenId id = vocabulary_.byte_token(static_cast<unsigned char>(byte));
  if (id != kNoToken) {
    out.push_back(id);
  } else {
    vocabulary_.AppendReplacement(out);
  }
}

void BpeSession::Encode(std::string_view text, bool /*first*/, std::vector<TokenId>& out) {
  // Bytes that are not UTF-8 are words of their own, which patterns never see.
  while (!text.empty()) {
    const std::size_t valid = ValidUtf8Prefix(text);
    if (valid > 0) EncodeUtf8(text.substr(0, valid), out);
    text.remove_prefix(valid);
    std::size_t invalid = 0;
    while (invalid < text.size()) {
      const Utf8Char c = ReadUtf8(text, invalid);
      if (c.status == Utf8Status::kValid) break;
      invalid += c.length;
    }
    if (invalid > 0) EncodeWord(text.substr(0, invalid), out);
    text.remove_prefix(invalid);
  }
}

void BpeSession::EncodeUtf8(std::string_view text, std::vector<TokenId>& out) {
  if (!rule_.space_marks) {
    model_.pre_tokenizer.Split(text, words_);
    for (const std::string_view word : words_) EncodeWord(word, out);
    return;
  }
  // A space mark that the text itself has is written as bytes: as a token it would come back as a
  // space.
  for (std::size_t pos = 0;;) {
    const std::size_t mark =
        vocabulary_.has_all_bytes() ? text.find(kSpaceMark, pos) : std::string_view::npos;
    std::string& escaped = escaped_.emplace_back();
    AppendWithMarks(text.substr(pos, mark - pos), escaped);
    model_.pre_tokenizer.Split(escaped, words_);
    for (const std::string_view word : words_) EncodeWord(word, out);
    if (mark == std::string_view::npos) return;
    for (const char c : kSpaceMark) AppendByte(c, out);
    pos = mark + kSpaceMark.size();
  }
}

TokenId BpeSession::WholeWord(std::string_view word) {
  if (rule_.newline_runs && word.front() == '\n') {
    return word.find_first_not_of('\n') == std::string_view::npos ? vocabulary_.FindOrdinary(word)
                                                                  : kNoToken;
  }
  if (!rule_.ignore_merges) return kNoToken;
  if (rule_.utf8) return vocabulary_.FindOrdinary(word);
  mapped_.clear();
  for (const char c : word) mapped_ += ByteLevelChar(static_cast<unsigned char>(c));
  return vocabulary_.FindOrdinary(mapped_);
}

void BpeSession::EncodeWord(std::string_view word, std::vector<TokenId>& out) {
  constexpr std::size_t kMaxWord = std::size_t{1} << 30;  // so that 32-bit places do
  if (word.size() > kMaxWord) {
    EncodeWord(word.substr(0, kMaxWord), out);
    return EncodeWord(word.substr(kMaxWord), out);
  }
  if (rule_.mark_starts && word.front() != '\n') {
    std::string line(word.starts_with(kSpaceMark) ? std::string_view() : kSpaceMark);
    line += word;
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end =
          std::min(line.find(kSpaceMark, begin + kSpaceMark.size()), line.size());
      MergeWord(std::string_view(line).substr(begin, end - begin), out);
      begin = end;
    }
    return;
  }
  if (!rule_.space_marks || word.front() == '\n') return EncodePiece(word, out);
  for (std::string_view left = word; !left.empty();) {
    const std::size_t piece = model_.segmenter.FirstPiece(left);
    EncodePiece(left.substr(0, piece), out);
    left.remove_prefix(piece);
  }
}

void BpeSession::EncodePiece(std::string_view word, std::vector<TokenId>& out) {
  const bool cached = WordCache::Fits(word);
  if (cached && cache_.Copy(word, out)) return;
  const std::size_t begin = out.size();
  if (const TokenId id = WholeWord(word); id != kNoToken) {
    out.push_back(id);
  } else {
    MergeWord(word, out);
  }
  if (cached) cache_.Remember(word, begin, out.size() - begin);
}

void BpeSession::AddParts(std::string_view word) {
  parts_.clear();
  for (std::size_t pos = 0; pos < word.size();) {
    Part part;
    part.begin = static_cast<std::uint32_t>(pos);
    const auto byte = static_cast<unsigned char>(word[pos]);
    if (!rule_.utf8 || byte < 0x80) {
      part.length = 1;
      part.symbol = model_.byte_symbols[byte];
    } else if (const Utf8Char c = ReadUtf8(word, pos); c.status == Utf8Status::kValid) {
      part.length = static_cast<std::uint32_t>(c.length);
      part.symbol = model_.merges.SymbolOf(vocabulary_, word.substr(pos, c.length));
    } else {
      part.length = 1;
    }
    const auto index = static_cast<std::uint32_t>(parts_.size());
    part.previous = index == 0 ? kEnd : index - 1;
    pos += part.length;
    part.next = pos == word.size() ? kEnd : index + 1;
    parts_.push_back(part);
  }
}

// Adds the pair that begins with part `left`, if it merges.
void BpeSession::Consider(std::uint32_t left) {
  if (left == kEnd || parts_[left].next == kEnd) return;
  const Symbol left_symbol = parts_[left].symbol, right_symbol = parts_[parts_[left].next].symbol;
  const Merge* merge = model_.merges.Find(left_symbol, right_symbol);
  if (merge == nullptr) return;
  heap_.push_back({merge->rank, left, left_symbol, right_symbol, merge->result});
  std::push_heap(heap_.begin(), heap_.end());
}

void BpeSession::MergeWord(std::string_view word, std::vector<TokenId>& out) {
  AddParts(word);
  heap_.clear();
  for (std::uint32_t i = 0; i + 1 < parts_.size(); ++i) Consider(i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate best = heap_.back();
    heap_.pop_back();
    Part& left = parts_[best.left];
    // Out of date when one of the two has merged since.
    if (left.length == 0 || left.next == kEnd || left.symbol != best.left_symbol ||
        parts_[left.next].symbol != best.right_symbol) {
      continue;
    }
    Part& right = parts_[left.next];
    left.symbol = best.result;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != kEnd) parts_[left.next].previous = best.left;
    Consider(left.previous);
    Consider(best.left);
  }
  for (const Part& part : parts_) {
    if (part.length == 0) continue;
    if (part.symbol < vocabulary_.size()) {
      out.push_back(static_cast<TokenId>(part.symbol));
      continue;
    }
    const std::string_view text = word.substr(part.begin, part.length);
    if (rule_.space_marks) {
      for (const char c : WithSpaces(text)) AppendByte(c, out);
    } else {
      for (const char c : text) AppendByte(c, out);
    }
  }
}

}  // namespace

Result<std::unique_ptr<TextEncoder>> MakeBpeEncoder(const GgufFile& file,
                                                    const Vocabulary& vocabulary,
                                                    const PreRule& rule) {
  VT_ASSIGN_OR_RETURN(MergeTable merges, MergeTable::Load(file, vocabulary));
  VT_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer, PreTokenizer::Make(rule));
  return std::unique_ptr<TextEncoder>(
      std::make_unique<BpeEncoder>(vocabulary, rule, std::move(merges), std::move(pre_tokenizer)));
}

}  // namespace vt::tok
