// SentencePiece's BPE: characters are joined pair by pair, the pair whose text is the token of the
// highest score first, of equal ones the leftmost. What is then no token becomes bytes.

#include <algorithm>
#include <deque>
#include <string>

#include "base/utf8.h"
#include "formats/tokenizer/segmenter.h"
#include "formats/tokenizer/text_encoder.h"
#include "formats/tokenizer/word_cache.h"

namespace vt::tok {
namespace {

class SpmEncoder final : public TextEncoder {
 public:
  SpmEncoder(const Vocabulary& vocabulary, bool add_space_prefix)
      : vocabulary_(vocabulary), add_space_prefix_(add_space_prefix) {
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      segmenter_.Keep(vocabulary.text(static_cast<TokenId>(id)));
    }
  }

  std::unique_ptr<EncodeSession> Begin(std::size_t input_bytes) const override;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Segmenter& segmenter() const { return segmenter_; }
  bool add_space_prefix() const { return add_space_prefix_; }

 private:
  const Vocabulary& vocabulary_;
  bool add_space_prefix_;
  Segmenter segmenter_;
};

class SpmSession final : public EncodeSession {
 public:
  SpmSession(const SpmEncoder& encoder, std::size_t input_bytes)
      : encoder_(encoder), vocabulary_(encoder.vocabulary()), cache_(input_bytes) {}

  void Encode(std::string_view text, bool first, std::vector<TokenId>& out) override;

 private:
  struct Part {
    std::uint32_t begin = 0, length = 0;   // length 0: joined to the part before it
    std::uint32_t previous = 0, next = 0;  // kEnd for none
  };
  struct Candidate {
    float score = 0.0f;
    std::uint32_t left = 0, right = 0, length = 0;
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;

  void EncodeRun(bool space_first, std::string_view run, std::vector<TokenId>& out);
  void EncodePiece(std::string_view piece, std::vector<TokenId>& out);
  void Join(std::string_view piece);
  void Consider(std::string_view piece, std::uint32_t left);
  void AppendByte(char byte, std::vector<TokenId>& out) const;
  void AppendUnjoined(std::string_view text, std::vector<TokenId>& out) const;

  const SpmEncoder& encoder_;
  const Vocabulary& vocabulary_;
  std::deque<std::string> escaped_;  // the runs; the cache has views of them
  std::vector<Part> parts_;          // of the piece at hand
  std::vector<Candidate> heap_;
  WordCache cache_;
};

std::unique_ptr<EncodeSession> SpmEncoder::Begin(std::size_t input_bytes) const {
  return std::make_unique<SpmSession>(*this, input_bytes);
}

void SpmSession::AppendByte(char byte, std::vector<TokenId>& out) const {
  const TokenId id = vocabulary_.byte_token(static_cast<unsigned char>(byte));
  if (id != kNoToken) out.push_back(id);
}

// A character that is no token.
void SpmSession::AppendUnjoined(std::string_view text, std::vector<TokenId>& out) const {
  if (!vocabulary_.has_all_bytes()) return vocabulary_.AppendReplacement(out);
  if (text == kSpaceMark) return AppendByte(' ', out);
  for (const char c : text) AppendByte(c, out);
}

void SpmSession::Encode(std::string_view text, bool first, std::vector<TokenId>& out) {
  if (text.empty()) return;
  bool space_first = first && encoder_.add_space_prefix();
  // A space mark that the text itself has is written as bytes: as a token it would come back as a
  // space. Runs are cut so that 32-bit places do.
  constexpr std::size_t kMaxRun = std::size_t{1} << 30;
  while (!text.empty() || space_first) {
    const std::size_t mark =
        vocabulary_.has_all_bytes() ? text.find(kSpaceMark) : std::string_view::npos;
    const std::size_t length = std::min({mark, text.size(), kMaxRun});
    if (length > 0 || space_first) EncodeRun(space_first, text.substr(0, length), out);
    space_first = false;
    text.remove_prefix(length);
    if (length == mark) {
      for (const char c : kSpaceMark) AppendByte(c, out);
      text.remove_prefix(kSpaceMark.size());
    }
  }
}

void SpmSession::EncodeRun(bool space_first, std::string_view run, std::vector<TokenId>& out) {
  std::string& escaped = escaped_.emplace_back(space_first ? kSpaceMark : std::string_view());
  AppendWithMarks(run, escaped);
  for (std::string_view left = escaped; !left.empty();) {
    const std::string_view piece = left.substr(0, encoder_.segmenter().FirstPiece(left));
    left.remove_prefix(piece.size());
    const bool cached = WordCache::Fits(piece);
    if (cached && cache_.Copy(piece, out)) continue;
    const std::size_t begin = out.size();
    EncodePiece(piece, out);
    if (cached) cache_.Remember(piece, begin, out.size() - begin);
  }
}

void SpmSession::EncodePiece(std::string_view piece, std::vector<TokenId>& out) {
  parts_.clear();
  for (std::size_t pos = 0; pos < piece.size();) {
    const Utf8Char c = ReadUtf8(piece, pos);
    const std::size_t length = c.status == Utf8Status::kValid ? c.length : 1;
    const auto index = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back({static_cast<std::uint32_t>(pos), static_cast<std::uint32_t>(length),
                      index == 0 ? kEnd : index - 1,
                      pos + length == piece.size() ? kEnd : index + 1});
    pos += length;
  }
  Join(piece);
  for (const Part& part : parts_) {
    if (part.length == 0) continue;
    const std::string_view text = piece.substr(part.begin, part.length);
    if (const TokenId id = vocabulary_.FindOrdinary(text); id != kNoToken) {
      out.push_back(id);
    } else {
      AppendUnjoined(text, out);
    }
  }
}

// Adds part `left` and the next one, if their text is a token.
void SpmSession::Consider(std::string_view piece, std::uint32_t left) {
  if (left == kEnd || parts_[left].next == kEnd) return;
  const Part& a = parts_[left];
  const Part& b = parts_[a.next];
  const std::uint32_t length = a.length + b.length;
  const TokenId id = vocabulary_.FindOrdinary(piece.substr(a.begin, length));
  if (id == kNoToken) return;
  heap_.push_back({vocabulary_.score(id), left, a.next, length});
  std::push_heap(heap_.begin(), heap_.end());
}

void SpmSession::Join(std::string_view piece) {
  heap_.clear();
  for (std::uint32_t i = 0; i + 1 < parts_.size(); ++i) Consider(piece, i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate best = heap_.back();
    heap_.pop_back();
    Part& left = parts_[best.left];
    Part& right = parts_[best.right];
    // Out of date when one of the two has been joined since.
    if (left.length == 0 || right.length == 0 || left.length + right.length != best.length) {
      continue;
    }
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != kEnd) parts_[left.next].previous = best.left;
    Consider(piece, left.previous);
    Consider(piece, best.left);
  }
}

}  // namespace

std::unique_ptr<TextEncoder> MakeSpmEncoder(const Vocabulary& vocabulary, bool add_space_prefix) {
  return std::make_unique<SpmEncoder>(vocabulary, add_space_prefix);
}

}  // namespace vt::tok
