#include "formats/tokenizer/joiner.h"

namespace vt::tok {

std::string JoinPiece(const Tokenizer& tokenizer, TokenId id, bool special, bool& drop_space) {
  const TokenizerFacts& facts = tokenizer.facts();
  std::string piece = tokenizer.Piece(id, special);
  if (piece.empty() || !facts.add_space_prefix) return piece;
  const TokenKind kind = tokenizer.kind(id);
  if (kind == TokenKind::kControl || kind == TokenKind::kUserDefined) {
    drop_space = true;  // encoding puts a space after these too
    return piece;
  }
  if (piece.front() == ' ') {
    // WordPiece has no spaces of the text: these marks stand by the word before them.
    const bool mark = facts.model == "bert" && piece.size() == 2 &&
                      std::string_view(".,?!").find(piece[1]) != std::string_view::npos;
    if (drop_space || mark) piece.erase(0, 1);
  }
  drop_space = false;
  return piece;
}

}  // namespace vt::tok
