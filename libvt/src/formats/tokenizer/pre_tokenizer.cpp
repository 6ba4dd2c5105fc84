#include "formats/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstring>
#include <string>

#include "base/utf8.h"

namespace vt::tok {
namespace {

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDeleter {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
using MatchData = std::unique_ptr<pcre2_match_data, MatchDeleter>;

void PushWord(std::string_view word, std::vector<std::string_view>& words) {
  if (!word.empty()) words.push_back(word);
}

// Words of three characters from the end of `run`; the first has what is left over.
void PushByThree(std::string_view run, std::vector<std::string_view>& words) {
  std::size_t characters = 0;
  for (const char c : run) characters += (c & 0xC0) != 0x80;
  std::size_t left = characters % 3;
  std::size_t begin = 0;
  for (std::size_t pos = 0; pos < run.size(); pos += ReadUtf8(run, pos).length) {
    if (left == 0) {
      PushWord(run.substr(begin, pos - begin), words);
      begin = pos;
      left = 3;
    }
    --left;
  }
  PushWord(run.substr(begin), words);
}

}  // namespace

struct PreTokenizer::Step {
  std::unique_ptr<pcre2_code, CodeDeleter> code;
  bool group_by_three = false;

  void Cut(std::string_view text, pcre2_match_data* match,
           std::vector<std::string_view>& words) const;
  bool Next(std::string_view text, std::size_t from, pcre2_match_data* match) const;
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Result<PreTokenizer> PreTokenizer::Make(const PreRule& rule) {
  PreTokenizer made;
  for (const PreStep& step : rule.steps) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    Step compiled;
    compiled.group_by_three = step.group_by_three;
    compiled.code.reset(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(step.pattern), std::strlen(step.pattern),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &offset, nullptr));
    if (!compiled.code) {
      PCRE2_UCHAR message[128] = {};
      pcre2_get_error_message(error, message, sizeof(message));
      const std::string what = "pre-tokenizer \"" + std::string(rule.name) + "\": pattern " +
                               step.pattern + " does not compile at " + std::to_string(offset) +
                               ": " + reinterpret_cast<const char*>(message);
      if (rule.from_file) {
        return UnsupportedError(what + "; give token ids instead of text");
      }
      return InternalError(what + "; this needs PCRE2 10.40");
    }
    // Without a just-in-time compiler matching is only slower.
    pcre2_jit_compile(compiled.code.get(), PCRE2_JIT_COMPLETE);
    made.steps_.push_back(std::move(compiled));
  }
  return made;
}

// Whether there is a match at or after `from`. A pattern that runs out of stack is tried once more
// without the just-in-time compiler; where that gives up too there is no match.
bool PreTokenizer::Step::Next(std::string_view text, std::size_t from,
                              pcre2_match_data* match) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int found =
      pcre2_match(code.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, match, nullptr);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
    found = pcre2_match(code.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        match, nullptr);
  }
  return found >= 0;
}

void PreTokenizer::Step::Cut(std::string_view text, pcre2_match_data* match,
                             std::vector<std::string_view>& words) const {
  const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match);
  std::size_t done = 0;
  for (std::size_t from = 0; from < text.size() && Next(text, from, match);) {
    const std::size_t begin = span[0], end = span[1];
    PushWord(text.substr(done, begin - done), words);
    const std::string_view word = text.substr(begin, end - begin);
    if (group_by_three) {
      PushByThree(word, words);
    } else {
      PushWord(word, words);
    }
    done = end;
    // An empty match cuts the text at its place; go on after the next character.
    from = end > begin || end == text.size() ? end : end + ReadUtf8(text, end).length;
  }
  PushWord(text.substr(done), words);
}

void PreTokenizer::Split(std::string_view text, std::vector<std::string_view>& words) const {
  words.clear();
  if (text.empty()) return;
  words.push_back(text);
  std::vector<std::string_view> next;
  for (const Step& step : steps_) {
    const MatchData match(pcre2_match_data_create_from_pattern(step.code.get(), nullptr));
    if (!match) return;
    next.clear();
    for (const std::string_view word : words) step.Cut(word, match.get(), next);
    words.swap(next);
  }
}

}  // namespace vt::tok
