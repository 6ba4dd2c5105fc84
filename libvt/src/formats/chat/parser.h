// Tokens to a syntax tree. Names are resolved and filters looked up by scope.h afterwards.
#pragma once

#include <string_view>

#include "formats/chat/ast.h"

namespace vt::chat {

// Throws TemplateError with the line.
Program ParseTemplate(std::string_view source);

}  // namespace vt::chat
