// The pre-tokenizers that tokenizer.ggml.pre names: how text is cut into words before merging.
//
// Source of names: src/llama-vocab.cpp of llama.cpp. Source of patterns: the tokenizer.json of the
// models themselves, where that file's are rewritten for a smaller regular expression language.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vt::tok {

// One cut: every match is a word, and so is what lies between matches. Later steps cut the words of
// earlier ones.
struct PreStep {
  const char* pattern;  // PCRE2, UTF and UCP
  // A match is cut once more, every three characters counted from its end.
  bool group_by_three = false;
};

struct PreRule {
  std::string_view name;  // tokenizer.ggml.pre
  std::span<const PreStep> steps;
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges say
  bool add_bos = false;        // the default of tokenizer.ggml.add_bos_token
  bool force_bos = false;      // also where the file says otherwise
  bool no_default_bos = false;
  bool utf8 = false;          // token texts are UTF-8, not byte-level
  bool space_marks = false;   // with utf8: spaces become U+2581
  bool mark_starts = false;   // with space_marks: each begins a word, and every line has one
  bool newline_runs = false;  // a run of line feeds that is a token is that token
  bool from_file = false;     // the patterns are those of a file, which may not compile
};

// Null when there is no such rule. "" is the rule of files that name none.
const PreRule* FindPreRule(std::string_view name);

std::string KnownPreRules();  // "afmoe, bailingmoe, ..."

}  // namespace vt::tok
