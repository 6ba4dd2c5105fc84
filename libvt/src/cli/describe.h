// vt.model/1: what a model file holds, from its header alone. docs/json/vt.model.md describes it.
#pragma once

#include <string>

#include "cli/console.h"
#include "vt/status.h"

namespace vt::cli {

// Writes the document to stdout. A file whose architecture or tokenizer this build does not know is
// described as far as its header goes, with the reason. Errors: those of GgufFile::Open and of a
// header that is damaged further in.
Status Describe(const std::string& path, Console& console);

}  // namespace vt::cli
