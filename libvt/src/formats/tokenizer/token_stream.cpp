#include "base/utf8.h"
#include "formats/tokenizer/joiner.h"
#include "vt/tokenizer.h"

namespace vt {
namespace {

// Moves the whole characters at the front of `pending` out. Bytes that cannot be part of one become
// U+FFFD; with `all` so do those that wait for the rest of theirs.
std::string TakeCharacters(std::string& pending, bool all) {
  std::string out;
  std::size_t pos = 0;
  while (pos < pending.size()) {
    const std::size_t valid = ValidUtf8Prefix(std::string_view(pending).substr(pos));
    out.append(pending, pos, valid);
    pos += valid;
    if (pos == pending.size()) break;
    const Utf8Char c = ReadUtf8(pending, pos);
    if (c.status == Utf8Status::kTruncated && !all) break;
    out += kReplacementUtf8;
    pos += c.length;
  }
  pending.erase(0, pos);
  return out;
}

}  // namespace

std::string TokenStream::Push(TokenId id) {
  pending_ += tok::JoinPiece(*tokenizer_, id, special_, drop_prefix_space_);
  return TakeCharacters(pending_, false);
}

std::string TokenStream::Flush() { return TakeCharacters(pending_, true); }

}  // namespace vt
