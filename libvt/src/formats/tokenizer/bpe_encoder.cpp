// Byte-pair encoding: inside each word the pair of lowest rank merges first, of equal ones the
// leftmost, until no pair is left.

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "formats/tokenizer/merge_table.h"
#include "formats/tokenizer/pre_tokenizer.h"
#include "formats/tokenizer/text_encoder.h"
#include "formats/tokenizer/utf8.h"

namespace vt::tok {
namespace {

// Remembers where in the output the tokens of a word are, so that a word that comes again is
// copied. Each word has one place; a newer one takes it.
class WordCache {
 public:
  explicit WordCache(std::size_t text_bytes)
      : entries_(std::bit_ceil(std::clamp<std::size_t>(text_bytes / 4, 16, 8192))) {}

  static bool Fits(std::string_view word) { return word.size() <= kMaxBytes; }

  // Appends the tokens of `word` to `out` if it is known.
  bool Copy(std::string_view word, std::vector<TokenId>& out) {
    Entry& entry = At(word);
    if (entry.word != word) return false;
    const std::size_t size = out.size();
    out.resize(size + entry.count);
    std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(entry.begin), entry.count,
                out.begin() + static_cast<std::ptrdiff_t>(size));
    return true;
  }
  void Remember(std::string_view word, std::size_t begin, std::size_t count) {
    At(word) = {word, begin, count};
  }

 private:
  static constexpr std::size_t kMaxBytes = 32;
  struct Entry {
    std::string_view word;  // of the text being encoded
    std::size_t begin = 0, count = 0;
  };
  Entry& At(std::string_view word) {
    std::uint64_t hash = word.size();
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    return entries_[(hash ^ (hash >> 29)) & (entries_.size() - 1)];
  }
  std::vector<Entry> entries_;
};

class BpeEncoder final : public TextEncoder {
 public:
  BpeEncoder(const Vocabulary& vocabulary, const PreRule& rule, MergeTable merges,
             PreTokenizer pre_tokenizer)
      : vocabulary_(vocabulary),
        rule_(rule),
        merges_(std::move(merges)),
        pre_tokenizer_(std::move(pre_tokenizer)) {
    byte_symbols_.fill(kNoSymbol);
    for (unsigned byte = 0; byte < (rule.utf8 ? 128u : 256u); ++byte) {
      const char self = static_cast<char>(byte);
      const std::string_view text =
          rule.utf8 ? std::string_view(&self, 1) : ByteLevelChar(static_cast<unsigned char>(byte));
      byte_symbols_[byte] = merges_.SymbolOf(vocabulary, text);
    }
  }

  void Encode(std::string_view text, bool first, std::vector<TokenId>& out) const override;

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
  struct Scratch {
    explicit Scratch(std::size_t text_bytes) : cache(text_bytes) {}
    std::vector<std::string_view> words;
    std::vector<Part> parts;
    std::vector<Candidate> heap;
    std::string escaped, mapped;
    WordCache cache;
  };
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;

  void EncodeUtf8(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;
  void EncodeWord(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  TokenId WholeWord(std::string_view word, Scratch& scratch) const;
  void MergeWord(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
  void AddParts(std::string_view word, std::vector<Part>& parts) const;
  void Consider(const std::vector<Part>& parts, std::uint32_t left,
                std::vector<Candidate>& heap) const;
  void AppendByte(char byte, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  const PreRule& rule_;
  MergeTable merges_;
  PreTokenizer pre_tokenizer_;
  std::array<Symbol, 256> byte_symbols_{};  // with UTF-8 texts only of ASCII
};

void BpeEncoder::AppendByte(char byte, std::vector<TokenId>& out) const {
  const TokenId id = vocabulary_.byte_token(static_cast<unsigned char>(byte));
  if (id != kNoToken) {
    out.push_back(id);
  } else {
    vocabulary_.AppendReplacement(out);
  }
}

void BpeEncoder::Encode(std::string_view text, bool /*first*/, std::vector<TokenId>& out) const {
  Scratch scratch(text.size());
  // Bytes that are not UTF-8 are words of their own, which patterns never see.
  while (!text.empty()) {
    const std::size_t valid = ValidUtf8Prefix(text);
    if (valid > 0) EncodeUtf8(text.substr(0, valid), scratch, out);
    text.remove_prefix(valid);
    std::size_t invalid = 0;
    while (invalid < text.size()) {
      const Utf8Char c = ReadUtf8(text, invalid);
      if (c.status == Utf8Status::kValid) break;
      invalid += c.length;
    }
    if (invalid > 0) EncodeWord(text.substr(0, invalid), scratch, out);
    text.remove_prefix(invalid);
  }
}

void BpeEncoder::EncodeUtf8(std::string_view text, Scratch& scratch,
                            std::vector<TokenId>& out) const {
  if (!rule_.space_marks) {
    pre_tokenizer_.Split(text, scratch.words);
    for (const std::string_view word : scratch.words) EncodeWord(word, scratch, out);
    return;
  }
  // A space mark that the text itself has is written as bytes: as a token it would come back as a
  // space.
  for (std::size_t pos = 0;;) {
    const std::size_t mark =
        vocabulary_.has_all_bytes() ? text.find(kSpaceMark, pos) : std::string_view::npos;
    const std::string_view run = text.substr(pos, mark - pos);
    scratch.escaped.clear();
    for (const char c : run) {
      if (c == ' ') {
        scratch.escaped += kSpaceMark;
      } else {
        scratch.escaped.push_back(c);
      }
    }
    pre_tokenizer_.Split(scratch.escaped, scratch.words);
    for (const std::string_view word : scratch.words) EncodeWord(word, scratch, out);
    if (mark == std::string_view::npos) return;
    for (const char c : kSpaceMark) AppendByte(c, out);
    pos = mark + kSpaceMark.size();
  }
}

TokenId BpeEncoder::WholeWord(std::string_view word, Scratch& scratch) const {
  if (rule_.newline_runs && word.front() == '\n') {
    return word.find_first_not_of('\n') == std::string_view::npos ? vocabulary_.FindOrdinary(word)
                                                                  : kNoToken;
  }
  if (!rule_.ignore_merges) return kNoToken;
  if (rule_.utf8) return vocabulary_.FindOrdinary(word);
  scratch.mapped.clear();
  for (const char c : word) scratch.mapped += ByteLevelChar(static_cast<unsigned char>(c));
  return vocabulary_.FindOrdinary(scratch.mapped);
}

void BpeEncoder::EncodeWord(std::string_view word, Scratch& scratch,
                            std::vector<TokenId>& out) const {
  constexpr std::size_t kMaxWord = std::size_t{1} << 30;  // so that 32-bit places do
  if (word.size() > kMaxWord) {
    EncodeWord(word.substr(0, kMaxWord), scratch, out);
    return EncodeWord(word.substr(kMaxWord), scratch, out);
  }
  if (rule_.mark_starts && word.front() != '\n') {
    std::string line(word.starts_with(kSpaceMark) ? std::string_view() : kSpaceMark);
    line += word;
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end =
          std::min(line.find(kSpaceMark, begin + kSpaceMark.size()), line.size());
      MergeWord(std::string_view(line).substr(begin, end - begin), scratch, out);
      begin = end;
    }
    return;
  }
  // With space marks words are lines, of a text that is not there any more.
  const bool cached = !rule_.space_marks && WordCache::Fits(word);
  if (cached && scratch.cache.Copy(word, out)) return;
  const std::size_t begin = out.size();
  if (const TokenId id = WholeWord(word, scratch); id != kNoToken) {
    out.push_back(id);
  } else {
    MergeWord(word, scratch, out);
  }
  if (cached) scratch.cache.Remember(word, begin, out.size() - begin);
}

void BpeEncoder::AddParts(std::string_view word, std::vector<Part>& parts) const {
  parts.clear();
  for (std::size_t pos = 0; pos < word.size();) {
    Part part;
    part.begin = static_cast<std::uint32_t>(pos);
    const auto byte = static_cast<unsigned char>(word[pos]);
    if (!rule_.utf8 || byte < 0x80) {
      part.length = 1;
      part.symbol = byte_symbols_[byte];
    } else if (const Utf8Char c = ReadUtf8(word, pos); c.status == Utf8Status::kValid) {
      part.length = static_cast<std::uint32_t>(c.length);
      part.symbol = merges_.SymbolOf(vocabulary_, word.substr(pos, c.length));
    } else {
      part.length = 1;
    }
    const auto index = static_cast<std::uint32_t>(parts.size());
    part.previous = index == 0 ? kEnd : index - 1;
    pos += part.length;
    part.next = pos == word.size() ? kEnd : index + 1;
    parts.push_back(part);
  }
}

// Adds the pair that begins with part `left`, if it merges.
void BpeEncoder::Consider(const std::vector<Part>& parts, std::uint32_t left,
                          std::vector<Candidate>& heap) const {
  if (left == kEnd || parts[left].next == kEnd) return;
  const Symbol left_symbol = parts[left].symbol, right_symbol = parts[parts[left].next].symbol;
  const Merge* merge = merges_.Find(left_symbol, right_symbol);
  if (merge == nullptr) return;
  heap.push_back({merge->rank, left, left_symbol, right_symbol, merge->result});
  std::push_heap(heap.begin(), heap.end());
}

void BpeEncoder::MergeWord(std::string_view word, Scratch& scratch,
                           std::vector<TokenId>& out) const {
  std::vector<Part>& parts = scratch.parts;
  std::vector<Candidate>& heap = scratch.heap;
  AddParts(word, parts);
  heap.clear();
  for (std::uint32_t i = 0; i + 1 < parts.size(); ++i) Consider(parts, i, heap);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate best = heap.back();
    heap.pop_back();
    Part& left = parts[best.left];
    // Out of date when one of the two has merged since.
    if (left.length == 0 || left.next == kEnd || left.symbol != best.left_symbol ||
        parts[left.next].symbol != best.right_symbol) {
      continue;
    }
    Part& right = parts[left.next];
    left.symbol = best.result;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != kEnd) parts[left.next].previous = best.left;
    Consider(parts, left.previous, heap);
    Consider(parts, best.left, heap);
  }
  for (const Part& part : parts) {
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
