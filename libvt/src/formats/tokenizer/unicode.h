// The few properties of characters that BERT's normaliser needs.
//
// Source: the Unicode character database; what counts as punctuation, control and ideograph is as
// in the normaliser of google-research/bert.
#pragma once

#include <string>

namespace vt::tok {

bool IsWhiteSpace(char32_t c);
bool IsControl(char32_t c);
bool IsPunctuation(char32_t c);  // P*, and the ASCII symbols
bool IsMark(char32_t c);         // M*
bool IsIdeograph(char32_t c);    // each is a word

char32_t ToLower(char32_t c);  // the simple mapping

// The first character of the canonical decomposition (NFD): the letter without its accents. Of a
// Hangul syllable that is the leading consonant alone, as readers of GGUF vocabularies have it.
char32_t BaseCharacter(char32_t c);

}  // namespace vt::tok
