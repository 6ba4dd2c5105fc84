#include "formats/hf_tokenizer_kind.h"

#include <algorithm>
#include <optional>

#include "formats/file_error.h"

namespace vt {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // U+2581
// What ByteLevel cuts by (use_regex).
constexpr const char* kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class Finder {
 public:
  Finder(const std::string& path, const HfTokenizerJson& json) : path_(path), json_(json) {}

  Result<HfTokenizerKind> Find();

 private:
  Status ReadNormalizer();
  Status ReadPreTokenizer();
  Status ReadSplit(const HfConfig& config, const std::string& at);
  Status ReadMetaspace(const HfConfig& config, const std::string& at);
  Status ReadPostProcessor();
  Status ReadTemplate(const HfConfig& config, const std::string& at);
  Status Unknown(const std::string& what) const {
    return FileUnsupported(path_, what + "; give token ids instead of text");
  }
  static std::string Text(const HfConfig& config, const std::string& key) {
    const Result<std::optional<std::string>> value = config.String(key);
    return value.ok() ? value->value_or("") : "";
  }
  static bool Flag(const HfConfig& config, const std::string& key, bool missing) {
    const Result<std::optional<bool>> value = config.Bool(key);
    return value.ok() ? value->value_or(missing) : missing;
  }

  const std::string& path_;
  const HfTokenizerJson& json_;
  HfTokenizerKind kind_;
  bool byte_level_ = false;
  bool marks_ = false;   // spaces become U+2581
  bool prefix_ = false;  // one is put in front
};

Result<HfTokenizerKind> Finder::Find() {
  if (json_.model_type != "BPE" && !(json_.model_type.empty() && !json_.merges.empty())) {
    return Unknown("model type " + Quoted(json_.model_type) + " is not known (known: BPE)");
  }
  if (json_.affixes) {
    return Unknown("continuing_subword_prefix and end_of_word_suffix are not known (want none)");
  }
  for (const HfAddedToken& token : json_.added) {
    if (token.single_word) {
      return Unknown("added token " + Quoted(token.text) + ": single_word is not known");
    }
  }
  VT_RETURN_IF_ERROR(ReadNormalizer());
  VT_RETURN_IF_ERROR(ReadPreTokenizer());
  VT_RETURN_IF_ERROR(ReadPostProcessor());
  if (byte_level_ == marks_) {
    return Unknown(byte_level_ ? "both ByteLevel and U+2581 for spaces"
                               : "neither ByteLevel nor U+2581 for spaces (one is wanted)");
  }
  if (byte_level_) {
    kind_.model = "gpt2";
    return kind_;
  }
  if (!json_.byte_fallback) {
    return Unknown("U+2581 for spaces without byte_fallback (want byte_fallback true)");
  }
  kind_.model = prefix_ ? "llama" : "gemma4";
  kind_.space_prefix = prefix_;
  if (prefix_ && !kind_.patterns.empty()) {
    return Unknown("a cut by " + Quoted(kind_.patterns[0]) + " after a space is put in front");
  }
  return kind_;
}

Status Finder::ReadNormalizer() {
  if (!json_.normalizer) return {};
  const HfConfig& config = *json_.normalizer;
  for (const std::string& at : HfComponents(config, "normalizers")) {
    const std::string type = Text(config, at + "type");
    if (type == "NFC") continue;  // as GGUF has it, text is taken as composed already
    if (type == "Prepend" && Text(config, at + "prepend") == kMark) {
      prefix_ = true;
    } else if (type == "Replace" && Text(config, at + "pattern.String") == " " &&
               Text(config, at + "content") == kMark) {
      marks_ = true;
    } else {
      return Unknown("normalizer " + Quoted(type) +
                     " is not known (known: NFC, and Prepend and Replace of U+2581)");
    }
  }
  return {};
}

Status Finder::ReadPreTokenizer() {
  if (!json_.pre_tokenizer) return {};
  const HfConfig& config = *json_.pre_tokenizer;
  for (const std::string& at : HfComponents(config, "pretokenizers")) {
    const std::string type = Text(config, at + "type");
    if (type == "ByteLevel") {
      byte_level_ = true;
      if (Flag(config, at + "add_prefix_space", false)) {
        return Unknown("pre_tokenizer ByteLevel: add_prefix_space is not known (want false)");
      }
      if (Flag(config, at + "use_regex", true)) kind_.patterns.emplace_back(kGpt2);
    } else if (type == "Digits") {
      kind_.patterns.emplace_back(Flag(config, at + "individual_digits", false) ? R"(\p{N})"
                                                                                : R"(\p{N}+)");
    } else if (type == "Punctuation") {
      const std::string behavior = Text(config, at + "behavior");
      if (behavior != "Isolated" && behavior != "Contiguous") {
        return Unknown("pre_tokenizer Punctuation: behavior " + Quoted(behavior) +
                       " is not known (known: Isolated, Contiguous)");
      }
      kind_.patterns.emplace_back(behavior == "Isolated" ? R"([\p{P}\$\+<=>\^~\|`])"
                                                         : R"([\p{P}\$\+<=>\^~\|`]+)");
    } else if (type == "Split") {
      VT_RETURN_IF_ERROR(ReadSplit(config, at));
    } else if (type == "Metaspace") {
      VT_RETURN_IF_ERROR(ReadMetaspace(config, at));
    } else {
      return Unknown("pre_tokenizer " + Quoted(type) +
                     " is not known (known: ByteLevel, Digits, Metaspace, Punctuation, Split)");
    }
  }
  return {};
}

Status Finder::ReadSplit(const HfConfig& config, const std::string& at) {
  const std::string literal = Text(config, at + "pattern.String");
  // Spaces are gone by then.
  if (marks_ && literal == " ") return {};
  std::string pattern = Text(config, at + "pattern.Regex");
  if (!literal.empty()) {
    for (const char c : literal) {
      // A backslash takes the meaning from every ASCII character that is no letter or digit.
      const auto byte = static_cast<unsigned char>(c);
      const bool plain = byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                         (c >= 'A' && c <= 'Z');
      if (!plain) pattern += '\\';
      pattern += c;
    }
  }
  if (pattern.empty()) return Unknown("pre_tokenizer Split without a pattern");
  const std::string behavior = Text(config, at + "behavior");
  const bool invert = Flag(config, at + "invert", false);
  // Taking away what no match covers leaves the matches.
  const bool known = (behavior == "Isolated" && !invert) || (behavior == "Removed" && invert);
  if (!known) {
    return Unknown("pre_tokenizer Split by " + Quoted(pattern) + ": behavior " + Quoted(behavior) +
                   (invert ? " inverted" : "") +
                   " is not known (known: Isolated, and Removed inverted)");
  }
  kind_.patterns.push_back(std::move(pattern));
  return {};
}

Status Finder::ReadMetaspace(const HfConfig& config, const std::string& at) {
  marks_ = true;
  const std::string mark = Text(config, at + "replacement");
  std::string scheme = Text(config, at + "prepend_scheme");
  if (scheme.empty()) scheme = Flag(config, at + "add_prefix_space", true) ? "always" : "never";
  if (mark != kMark || (scheme != "always" && scheme != "first" && scheme != "never")) {
    return Unknown("pre_tokenizer Metaspace: replacement " + Quoted(mark) + ", prepend_scheme " +
                   Quoted(scheme) + " are not known (known: U+2581; always, first, never)");
  }
  prefix_ = prefix_ || scheme != "never";
  // A cut before each mark.
  if (Flag(config, at + "split", true)) {
    kind_.patterns.push_back(std::string(kMark) + "[^" + std::string(kMark) + "]*");
  }
  return {};
}

Status Finder::ReadPostProcessor() {
  if (!json_.post_processor) return {};
  const HfConfig& config = *json_.post_processor;
  for (const std::string& at : HfComponents(config, "processors")) {
    const std::string type = Text(config, at + "type");
    if (type == "ByteLevel") continue;  // offsets only
    if (type != "TemplateProcessing") {
      return Unknown("post_processor " + Quoted(type) +
                     " is not known (known: ByteLevel, TemplateProcessing)");
    }
    VT_RETURN_IF_ERROR(ReadTemplate(config, at));
  }
  return {};
}

// "single": special tokens before and after the sequence A.
Status Finder::ReadTemplate(const HfConfig& config, const std::string& at) {
  bool after = false;
  for (std::size_t i = 0; i < config.Size(at + "single"); ++i) {
    const std::string item = at + "single." + std::to_string(i) + ".";
    const std::string token = Text(config, item + "SpecialToken.id");
    if (token.empty()) {
      after = true;
      continue;
    }
    std::string& place = after ? kind_.eos : kind_.bos;
    if (!place.empty()) {
      return Unknown("post_processor: more than one token (" + Quoted(place) + ", " +
                     Quoted(token) + ") " + (after ? "after" : "before") + " a text");
    }
    place = token;
  }
  return {};
}

}  // namespace

Result<HfTokenizerKind> FindHfTokenizerKind(const std::string& path, const HfTokenizerJson& json) {
  return Finder(path, json).Find();
}

}  // namespace vt
