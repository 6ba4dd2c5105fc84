// Puts the pieces of tokens together; Decode and TokenStream do it in the same way.
#pragma once

#include <string>

#include "vt/tokenizer.h"

namespace vt::tok {

// What token `id` adds to the text. `drop_space`: the next piece begins where encoding put a space
// in front, which is not part of the text; kept up to date from call to call.
std::string JoinPiece(const Tokenizer& tokenizer, TokenId id, bool special, bool& drop_space);

}  // namespace vt::tok
