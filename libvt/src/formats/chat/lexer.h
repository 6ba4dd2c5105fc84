// Template source to tokens, with Jinja's white space rules (trim_blocks and lstrip_blocks on).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/chat/value.h"

namespace vt::chat {

enum class Token : std::uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Lexeme {
  Token token = Token::kEnd;
  int line = 1;
  std::string text;  // data, name, operator, or the string's value
  Value number;      // kInteger, kFloat
};

// Ends with a kEnd lexeme. Throws TemplateError.
std::vector<Lexeme> Lex(std::string_view source);

}  // namespace vt::chat
