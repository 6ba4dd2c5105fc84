// The cuts before merging that a file brings itself, in place of the name of known ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/tokenizer/pre_rules.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt::tok {

// A PreRule with what it points to. Not moved once made.
struct OwnPreRule {
  std::vector<std::string> patterns;
  std::vector<PreStep> steps;
  PreRule rule;
};

// From tokenizer.vt.split_patterns and tokenizer.vt.ignore_merges; null when the file has no such
// patterns. `marked_spaces`: the tokens are UTF-8 with U+2581 for spaces, else byte-level. A
// pattern that PCRE2 does not take is an error of PreTokenizer::Make.
Result<std::unique_ptr<OwnPreRule>> ReadOwnPreRule(const GgufFile& file, bool marked_spaces);

}  // namespace vt::tok
