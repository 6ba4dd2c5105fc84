#include "formats/hf_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "formats/file_error.h"
#include "formats/hf_tokenizer_json.h"
#include "formats/hf_tokenizer_kind.h"
#include "formats/name_hash.h"

namespace vt {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";
constexpr std::size_t kNone = ~std::size_t{0};

// tokenizer.ggml.token_type.
enum TokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

// Gemma-4 writes channels and tool calls with these, which a reader of its answers needs to see.
constexpr std::string_view kVisible[] = {"<|channel>",   "<channel|>",       "<|tool_call>",
                                         "<tool_call|>", "<|tool_response>", "<tool_response|>",
                                         "<|\"|>"};

bool IsByteToken(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  return text.size() == 6 && text.starts_with("<0x") && text[5] == '>' &&
         kHex.find(text[3]) != std::string_view::npos &&
         kHex.find(text[4]) != std::string_view::npos;
}

std::string Sibling(const HfTokenizerFiles& files, const char* name) {
  return (std::filesystem::path(files.folder) / name).string();
}

Result<std::optional<HfConfig>> ReadOptional(const std::string& path, const MappedFile* file) {
  std::optional<HfConfig> config;
  if (file) {
    VT_ASSIGN_OR_RETURN(config, HfConfig::Read(path, *file));
  }
  return config;
}

class Translator {
 public:
  Translator(const HfTokenizerFiles& files, const HfConfig& config, TextArena& texts,
             HfMetadata& out)
      : files_(files), config_(config), texts_(texts), out_(out) {}

  Status Add();

 private:
  Status AddVocabulary();
  Status FillTokens(std::uint64_t size);
  Status SetToken(std::string_view text, std::uint64_t id);
  void SetTypes();
  void AddMerges();
  void AddScores();
  void AddStrips();
  Status AddSpecialIds();
  Status AddChatTemplate();
  void AddId(std::string_view key, std::size_t id) {
    if (id != kNone) out_.U32(key, id);
  }
  std::size_t IdOf(std::string_view text) const {
    const auto found = ids_.find(text);
    return text.empty() || found == ids_.end() ? kNone : found->second;
  }
  Result<std::size_t> NamedId(std::string_view key) const;

  const HfTokenizerFiles& files_;
  const HfConfig& config_;
  TextArena& texts_;
  HfMetadata& out_;
  std::string path_;  // of tokenizer.json
  std::optional<HfConfig> tokenizer_config_, generation_;
  HfTokenizerJson json_;
  HfTokenizerKind kind_;
  std::vector<std::string_view> tokens_;
  std::vector<std::int32_t> types_;
  NameIndex ids_;
};

Status Translator::Add() {
  VT_ASSIGN_OR_RETURN(tokenizer_config_, ReadOptional(Sibling(files_, "tokenizer_config.json"),
                                                      files_.tokenizer_config));
  VT_ASSIGN_OR_RETURN(generation_, ReadOptional(Sibling(files_, "generation_config.json"),
                                                files_.generation_config));
  VT_RETURN_IF_ERROR(AddChatTemplate());
  if (!files_.tokenizer) {
    out_.String("tokenizer.vt.unsupported",
                "the folder has no tokenizer.json; give token ids instead of text");
    return {};
  }
  path_ = Sibling(files_, "tokenizer.json");
  VT_ASSIGN_OR_RETURN(json_, ReadHfTokenizerJson(path_, *files_.tokenizer, texts_));
  Result<HfTokenizerKind> kind = FindHfTokenizerKind(path_, json_);
  if (!kind.ok()) {
    if (kind.status().code() != Code::kUnsupported) return kind.status();
    out_.String("tokenizer.vt.unsupported", kind.status().message());
    return {};
  }
  kind_ = std::move(kind).value();
  VT_RETURN_IF_ERROR(AddVocabulary());
  return AddSpecialIds();
}

Status Translator::AddVocabulary() {
  VT_ASSIGN_OR_RETURN(const auto given, config_.U64("vocab_size"));
  std::uint64_t size = 0;
  for (const auto& [text, id] : json_.vocab) size = std::max(size, id + 1);
  for (const HfAddedToken& token : json_.added) size = std::max(size, token.id + 1);
  size = given.value_or(size);
  if (size == 0 || size > kHfMaxTokens) {
    return config_.Bad("vocab_size",
                       std::to_string(size) + " (want 1 to " + std::to_string(kHfMaxTokens) + ")");
  }
  VT_RETURN_IF_ERROR(FillTokens(size));
  SetTypes();
  out_.String("tokenizer.ggml.model", kind_.model);
  out_.String("tokenizer.ggml.pre", "tokenizer.json");
  out_.Strings("tokenizer.ggml.tokens",
               std::make_shared<const std::vector<std::string_view>>(tokens_));
  out_.Array("tokenizer.ggml.token_type", std::span<const std::int32_t>(types_));
  if (kind_.model == "llama") {
    AddScores();
  } else {
    AddMerges();
    auto patterns = std::make_shared<std::vector<std::string_view>>();
    for (const std::string& pattern : kind_.patterns) patterns->push_back(texts_.Keep(pattern));
    out_.Strings("tokenizer.vt.split_patterns", std::move(patterns));
    out_.Bool("tokenizer.vt.ignore_merges", json_.ignore_merges);
  }
  AddStrips();
  return {};
}

Status Translator::SetToken(std::string_view text, std::uint64_t id) {
  if (id >= tokens_.size()) return {};
  std::string_view& place = tokens_[static_cast<std::size_t>(id)];
  if (!place.empty() && place != text) {
    return FileCorrupt(path_, "id " + std::to_string(id) + " is token " + Quoted(place) +
                                  " and token " + Quoted(text) + " (want one text for each id)");
  }
  if (const auto [known, is_new] = ids_.emplace(text, id); !is_new && known->second != id) {
    return FileCorrupt(path_, "token " + Quoted(text) + " has ids " +
                                  std::to_string(known->second) + " and " + std::to_string(id) +
                                  " (want one id for each text)");
  }
  place = text;
  return {};
}

Status Translator::FillTokens(std::uint64_t size) {
  tokens_.resize(static_cast<std::size_t>(size));
  ids_.reserve(json_.vocab.size() + json_.added.size());
  for (const auto& [text, id] : json_.vocab) VT_RETURN_IF_ERROR(SetToken(text, id));
  types_.assign(tokens_.size(), kNormal);
  for (const HfAddedToken& token : json_.added) VT_RETURN_IF_ERROR(SetToken(token.text, token.id));
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].empty()) continue;
    tokens_[id] = texts_.Keep("[PAD" + std::to_string(id) + "]");
    types_[id] = kUnused;
  }
  return {};
}

void Translator::SetTypes() {
  const bool marked = kind_.model != "gpt2";
  NameIndex words;
  for (const auto& [text, id] : json_.vocab) words.emplace(text, id);
  if (marked && json_.byte_fallback) {
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      if (IsByteToken(tokens_[id])) types_[id] = kByte;
    }
  }
  for (const HfAddedToken& token : json_.added) {
    if (token.id >= tokens_.size()) continue;
    std::int32_t& type = types_[static_cast<std::size_t>(token.id)];
    // Looked for in the text as it is, where spaces are no marks yet.
    const bool in_marks = marked && token.text.find(kMark) != std::string_view::npos;
    if (token.special) {
      type = kControl;
    } else if (!in_marks || !words.contains(token.text)) {
      type = kUserDefined;
    }
    if (kind_.model == "gemma4" &&
        std::find(std::begin(kVisible), std::end(kVisible), token.text) != std::end(kVisible)) {
      type = kUserDefined;
    }
  }
  if (marked) {
    if (const std::size_t id = IdOf(json_.unknown); id != kNone) types_[id] = kUnknown;
  }
}

void Translator::AddMerges() {
  auto merges = std::make_shared<std::vector<std::string_view>>();
  merges->reserve(json_.merges.size());
  std::string text;
  for (const auto& [left, right] : json_.merges) {
    // Mostly the two lie in the file with a space between them.
    if (left.data() + left.size() + 1 == right.data() && left.data()[left.size()] == ' ') {
      merges->emplace_back(left.data(), left.size() + 1 + right.size());
      continue;
    }
    text.assign(left).append(" ").append(right);
    merges->push_back(texts_.Keep(text));
  }
  out_.Strings("tokenizer.ggml.merges", std::move(merges));
}

// A piece merges the earlier the lower the rank of the first merge that makes it.
void Translator::AddScores() {
  std::vector<float> scores(tokens_.size(), -static_cast<float>(json_.merges.size()));
  std::vector<bool> made(tokens_.size());
  std::string whole;
  for (std::size_t rank = 0; rank < json_.merges.size(); ++rank) {
    whole.assign(json_.merges[rank].first).append(json_.merges[rank].second);
    const std::size_t id = IdOf(whole);
    if (id == kNone || made[id]) continue;
    made[id] = true;
    scores[id] = -static_cast<float>(rank);
  }
  out_.Array("tokenizer.ggml.scores", std::span<const float>(scores));
}

void Translator::AddStrips() {
  std::vector<std::int32_t> left, right;
  for (const HfAddedToken& token : json_.added) {
    if (token.id >= tokens_.size()) continue;
    const auto id = static_cast<std::int32_t>(token.id);
    if (token.strip_left) left.push_back(id);
    if (token.strip_right) right.push_back(id);
  }
  out_.Array("tokenizer.vt.strip_left_ids", std::span<const std::int32_t>(left));
  out_.Array("tokenizer.vt.strip_right_ids", std::span<const std::int32_t>(right));
}

// The id of a token that tokenizer_config.json names: a text or an added token.
Result<std::size_t> Translator::NamedId(std::string_view key) const {
  if (!tokenizer_config_ || !tokenizer_config_->Has(key)) return kNone;
  std::string place(key);
  if (tokenizer_config_->TypeName(key) == "object") place += ".content";
  VT_ASSIGN_OR_RETURN(const auto text, tokenizer_config_->String(place));
  return text ? IdOf(*text) : kNone;
}

Status Translator::AddSpecialIds() {
  VT_ASSIGN_OR_RETURN(std::size_t bos, NamedId("bos_token"));
  VT_ASSIGN_OR_RETURN(std::size_t eos, NamedId("eos_token"));
  VT_ASSIGN_OR_RETURN(const std::size_t pad, NamedId("pad_token"));
  // The post-processor is what puts tokens around a text.
  if (!kind_.bos.empty()) bos = IdOf(kind_.bos);
  if (!kind_.eos.empty()) eos = IdOf(kind_.eos);
  const auto within = [&](const std::vector<std::uint64_t>& ids) {
    return !ids.empty() && ids[0] < tokens_.size() ? static_cast<std::size_t>(ids[0]) : kNone;
  };
  std::vector<std::int32_t> ends;
  const HfConfig* const generation = generation_ ? &*generation_ : nullptr;
  for (const HfConfig* const config : {generation, &config_}) {
    if (!config) continue;
    VT_ASSIGN_OR_RETURN(const auto bos_ids, config->U64s("bos_token_id"));
    VT_ASSIGN_OR_RETURN(const auto eos_ids, config->U64s("eos_token_id"));
    if (bos == kNone) bos = within(bos_ids);
    if (eos == kNone) eos = within(eos_ids);
    for (const std::uint64_t id : eos_ids) {
      const auto end = static_cast<std::int32_t>(id);
      const bool known = std::find(ends.begin(), ends.end(), end) != ends.end();
      if (id < tokens_.size() && !known) ends.push_back(end);
    }
  }
  AddId("tokenizer.ggml.bos_token_id", bos);
  AddId("tokenizer.ggml.eos_token_id", eos);
  AddId("tokenizer.ggml.padding_token_id", pad);
  AddId("tokenizer.ggml.unknown_token_id", IdOf(json_.unknown));
  out_.Array("tokenizer.vt.end_token_ids", std::span<const std::int32_t>(ends));

  bool add_bos = !kind_.bos.empty(), add_eos = !kind_.eos.empty();
  if (tokenizer_config_) {
    VT_ASSIGN_OR_RETURN(const auto bos_flag, tokenizer_config_->Bool("add_bos_token"));
    VT_ASSIGN_OR_RETURN(const auto eos_flag, tokenizer_config_->Bool("add_eos_token"));
    add_bos = bos_flag.value_or(add_bos);
    add_eos = eos_flag.value_or(add_eos);
  }
  // Gemma-4 must begin with it, whatever its files say.
  VT_ASSIGN_OR_RETURN(const auto model_type, config_.String("model_type"));
  if (model_type && model_type->starts_with("gemma4") && bos != kNone) add_bos = true;
  out_.Bool("tokenizer.ggml.add_bos_token", add_bos);
  out_.Bool("tokenizer.ggml.add_eos_token", add_eos);
  out_.Bool("tokenizer.ggml.add_space_prefix", kind_.space_prefix);
  return {};
}

// The file of its own, or tokenizer_config.json's: one template, or some with names.
Status Translator::AddChatTemplate() {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (files_.chat_template) {
    const std::string_view text(reinterpret_cast<const char*>(files_.chat_template->data()),
                                static_cast<std::size_t>(files_.chat_template->size()));
    if (ValidUtf8Prefix(text) != text.size()) {
      return FileCorrupt(Sibling(files_, "chat_template.jinja"), "is not UTF-8");
    }
    out_.String(kKey, text);
    return {};
  }
  if (!tokenizer_config_) return {};
  std::string place = "chat_template";
  for (std::size_t i = 0; i < tokenizer_config_->Size("chat_template"); ++i) {
    const std::string at = "chat_template." + std::to_string(i);
    VT_ASSIGN_OR_RETURN(const auto name, tokenizer_config_->String(at + ".name"));
    if (i == 0 || name == "default") place = at + ".template";
  }
  VT_ASSIGN_OR_RETURN(const auto source, tokenizer_config_->String(place));
  if (source) out_.String(kKey, *source);
  return {};
}

}  // namespace

Status AddHfTokenizer(const HfTokenizerFiles& files, const HfConfig& config, TextArena& texts,
                      HfMetadata& out) {
  return Translator(files, config, texts, out).Add();
}

}  // namespace vt
