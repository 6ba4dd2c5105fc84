// tokenizer.json as it is: vocabulary, merges, added tokens and the parts around them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/hf_config.h"
#include "formats/mapped_file.h"
#include "formats/text_arena.h"
#include "vt/status.h"

namespace vt {

struct HfAddedToken {
  std::uint64_t id = 0;
  std::string_view text;
  bool special = false;
  bool strip_left = false;
  bool strip_right = false;
  bool single_word = false;
};

struct HfTokenizerJson {
  std::string_view model_type;  // "BPE", ..; empty when absent
  std::string_view unknown;     // the text of unk_token, empty for none
  bool byte_fallback = false;
  bool ignore_merges = false;
  bool affixes = false;  // continuing_subword_prefix or end_of_word_suffix
  std::vector<std::pair<std::string_view, std::uint64_t>> vocab;
  std::vector<std::pair<std::string_view, std::string_view>> merges;
  std::vector<HfAddedToken> added;
  // Empty where they are null.
  std::optional<HfConfig> normalizer, pre_tokenizer, post_processor;
};

inline constexpr std::uint64_t kHfMaxTokens = std::uint64_t{1} << 21;

// kCorrupt: no JSON, members of other types, ids of 2,097,152 and more. Views point into `file` or
// `texts`.
Result<HfTokenizerJson> ReadHfTokenizerJson(const std::string& path, const MappedFile& file,
                                            TextArena& texts);

// The components of `config`, sequences taken apart: the dotted path of each, with its dot ("" for
// one alone). `list` is the member of a sequence: "normalizers", "pretokenizers", "processors".
std::vector<std::string> HfComponents(const HfConfig& config, std::string_view list);

}  // namespace vt
