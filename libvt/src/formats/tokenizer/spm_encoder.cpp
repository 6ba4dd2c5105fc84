// SentencePiece's BPE: characters are joined pair by pair, the pair whose text is the token of the
// highest score first, of equal ones the leftmost. What is then no token becomes bytes.

#include <algorithm>
#include <string>

#include "formats/tokenizer/text_encoder.h"
#include "formats/tokenizer/utf8.h"

namespace vt::tok {
namespace {

class SpmEncoder final : public TextEncoder {
 public:
  SpmEncoder(const Vocabulary& vocabulary, bool add_space_prefix)
      : vocabulary_(vocabulary), add_space_prefix_(add_space_prefix) {}

  void Encode(std::string_view text, bool first, std::vector<TokenId>& out) const override;

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
  struct Scratch {
    std::string escaped;
    std::vector<Part> parts;
    std::vector<Candidate> heap;
  };
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;

  void EncodeRun(bool space_first, std::string_view run, Scratch& scratch,
                 std::vector<TokenId>& out) const;
  void Join(Scratch& scratch) const;
  void Consider(Scratch& scratch, std::uint32_t left) const;
  void AppendByte(char byte, std::vector<TokenId>& out) const;
  void AppendUnjoined(std::string_view text, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  bool add_space_prefix_;
};

void SpmEncoder::AppendByte(char byte, std::vector<TokenId>& out) const {
  const TokenId id = vocabulary_.byte_token(static_cast<unsigned char>(byte));
  if (id != kNoToken) out.push_back(id);
}

// A character that is no token.
void SpmEncoder::AppendUnjoined(std::string_view text, std::vector<TokenId>& out) const {
  if (!vocabulary_.has_all_bytes()) return vocabulary_.AppendReplacement(out);
  if (text == kSpaceMark) return AppendByte(' ', out);
  for (const char c : text) AppendByte(c, out);
}

void SpmEncoder::Encode(std::string_view text, bool first, std::vector<TokenId>& out) const {
  if (text.empty()) return;
  Scratch scratch;
  bool space_first = first && add_space_prefix_;
  // A space mark that the text itself has is written as bytes: as a token it would come back as a
  // space. Runs are cut so that 32-bit places do.
  constexpr std::size_t kMaxRun = std::size_t{1} << 30;
  while (!text.empty() || space_first) {
    const std::size_t mark =
        vocabulary_.has_all_bytes() ? text.find(kSpaceMark) : std::string_view::npos;
    const std::size_t length = std::min({mark, text.size(), kMaxRun});
    if (length > 0 || space_first) EncodeRun(space_first, text.substr(0, length), scratch, out);
    space_first = false;
    text.remove_prefix(length);
    if (length == mark) {
      for (const char c : kSpaceMark) AppendByte(c, out);
      text.remove_prefix(kSpaceMark.size());
    }
  }
}

void SpmEncoder::EncodeRun(bool space_first, std::string_view run, Scratch& scratch,
                           std::vector<TokenId>& out) const {
  std::string& escaped = scratch.escaped;
  escaped.assign(space_first ? kSpaceMark : std::string_view());
  for (const char c : run) {
    if (c == ' ') {
      escaped += kSpaceMark;
    } else {
      escaped.push_back(c);
    }
  }
  scratch.parts.clear();
  for (std::size_t pos = 0; pos < escaped.size();) {
    const Utf8Char c = ReadUtf8(escaped, pos);
    const std::size_t length = c.status == Utf8Status::kValid ? c.length : 1;
    const auto index = static_cast<std::uint32_t>(scratch.parts.size());
    scratch.parts.push_back({static_cast<std::uint32_t>(pos), static_cast<std::uint32_t>(length),
                             index == 0 ? kEnd : index - 1,
                             pos + length == escaped.size() ? kEnd : index + 1});
    pos += length;
  }
  Join(scratch);
  for (const Part& part : scratch.parts) {
    if (part.length == 0) continue;
    const std::string_view text = std::string_view(escaped).substr(part.begin, part.length);
    if (const TokenId id = vocabulary_.FindOrdinary(text); id != kNoToken) {
      out.push_back(id);
    } else {
      AppendUnjoined(text, out);
    }
  }
}

// Adds part `left` and the next one, if their text is a token.
void SpmEncoder::Consider(Scratch& scratch, std::uint32_t left) const {
  if (left == kEnd || scratch.parts[left].next == kEnd) return;
  const Part& a = scratch.parts[left];
  const Part& b = scratch.parts[a.next];
  const std::uint32_t length = a.length + b.length;
  const TokenId id =
      vocabulary_.FindOrdinary(std::string_view(scratch.escaped).substr(a.begin, length));
  if (id == kNoToken) return;
  scratch.heap.push_back({vocabulary_.score(id), left, a.next, length});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void SpmEncoder::Join(Scratch& scratch) const {
  std::vector<Part>& parts = scratch.parts;
  scratch.heap.clear();
  for (std::uint32_t i = 0; i + 1 < parts.size(); ++i) Consider(scratch, i);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end());
    const Candidate best = scratch.heap.back();
    scratch.heap.pop_back();
    Part& left = parts[best.left];
    Part& right = parts[best.right];
    // Out of date when one of the two has been joined since.
    if (left.length == 0 || right.length == 0 || left.length + right.length != best.length) {
      continue;
    }
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != kEnd) parts[left.next].previous = best.left;
    Consider(scratch, left.previous);
    Consider(scratch, best.left);
  }
}

}  // namespace

std::unique_ptr<TextEncoder> MakeSpmEncoder(const Vocabulary& vocabulary, bool add_space_prefix) {
  return std::make_unique<SpmEncoder>(vocabulary, add_space_prefix);
}

}  // namespace vt::tok
