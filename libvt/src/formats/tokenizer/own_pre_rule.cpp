#include "formats/tokenizer/own_pre_rule.h"

#include "formats/tokenizer/vocabulary.h"

namespace vt::tok {

Result<std::unique_ptr<OwnPreRule>> ReadOwnPreRule(const GgufFile& file, bool marked_spaces) {
  constexpr std::string_view kPatterns = "tokenizer.vt.split_patterns";
  VT_ASSIGN_OR_RETURN(const GgufValue* patterns, file.GetStringArray(kPatterns));
  if (patterns == nullptr) return std::unique_ptr<OwnPreRule>();
  VT_ASSIGN_OR_RETURN(const auto ignore_merges, file.GetBool("tokenizer.vt.ignore_merges"));
  auto own = std::make_unique<OwnPreRule>();
  constexpr std::uint64_t kMostPatterns = 64;
  if (patterns->count > kMostPatterns) {
    return BadKey(file, kPatterns,
                  std::to_string(patterns->count) + " patterns (want at most " +
                      std::to_string(kMostPatterns) + ")");
  }
  for (const std::string_view pattern : *patterns->strings) own->patterns.emplace_back(pattern);
  for (const std::string& pattern : own->patterns) {
    if (pattern.find('\0') != std::string::npos) {
      return BadKey(file, kPatterns, "a pattern with a zero byte (want none)");
    }
    own->steps.push_back({.pattern = pattern.c_str()});
  }
  own->rule = {.name = "of the file",
               .steps = own->steps,
               .ignore_merges = ignore_merges.value_or(false),
               .no_default_bos = true,
               .utf8 = marked_spaces,
               .space_marks = marked_spaces,
               .from_file = true};
  return own;
}

}  // namespace vt::tok
