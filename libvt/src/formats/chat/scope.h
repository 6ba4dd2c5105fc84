// Gives every variable of a template its frame and slot, and every filter and test its function.
//
// Scoping is Jinja's, which is decided when a template is compiled: for, macro, call, with, filter
// and block-set bodies are frames; a name that a frame assigns anywhere is the frame's own from
// its start, with a copy of the outer value (or none, when nothing outside has the name).
#pragma once

#include "formats/chat/ast.h"

namespace vt::chat {

// Throws TemplateError with the line, also for unknown filters and tests outside conditions.
void ResolveNames(Program& program);

}  // namespace vt::chat
