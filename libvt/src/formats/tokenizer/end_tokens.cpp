#include "formats/tokenizer/end_tokens.h"

#include <algorithm>
#include <string>

#include "formats/tokenizer/special_ids.h"

namespace vt::tok {
namespace {

constexpr std::string_view kWellKnown[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    // Fill-in-the-middle: a padding, or the start of another file or repository.
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "[PAD]",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<REPO>",
    "<reponame>",
    "<|file_sep|>",
};

// Keys beside tokenizer.ggml.eos_token_id.
constexpr std::string_view kKeys[] = {
    "tokenizer.ggml.eot_token_id",     "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.fim_pad_token_id", "tokenizer.ggml.fim_rep_token_id",
    "tokenizer.ggml.fim_sep_token_id",
};

// An array of ids, of files that name more than one end.
constexpr std::string_view kMoreKey = "tokenizer.vt.end_token_ids";

bool IsMarked(TokenKind kind) {
  return kind == TokenKind::kControl || kind == TokenKind::kUserDefined;
}

// No ordinary text is cut like this, so such a token is a marker whatever kind the file gives it.
bool LooksLikeMarker(std::string_view text) {
  return (text.starts_with("<|") && text.ends_with("|>")) ||
         (text.starts_with("<｜") && text.ends_with("｜>"));
}

}  // namespace

Result<std::vector<TokenizerFacts::EndToken>> FindEndTokens(const GgufFile& file,
                                                            Vocabulary& vocabulary, TokenId eos) {
  std::vector<TokenizerFacts::EndToken> ends;
  const auto add = [&](TokenId id, std::string source) {
    const bool known =
        std::any_of(ends.begin(), ends.end(), [&](const auto& e) { return e.id == id; });
    if (!known) ends.push_back({id, std::move(source)});
  };
  if (eos != kNoToken) {
    add(eos,
        file.Find(kEosKey) != nullptr ? std::string(kEosKey) : "default of the tokenizer model");
  }
  for (const std::string_view key : kKeys) {
    VT_ASSIGN_OR_RETURN(const TokenId id, ReadTokenId(file, vocabulary, key, kNoToken));
    if (id != kNoToken) add(id, std::string(key));
  }
  VT_ASSIGN_OR_RETURN(const GgufValue* more, file.GetNumberArray(kMoreKey));
  for (std::uint64_t i = 0; more != nullptr && i < more->count; ++i) {
    const std::int64_t id = more->ElementI64(i).value_or(-1);
    if (id < 0 || id >= std::int64_t{vocabulary.size()}) {
      return BadKey(file, kMoreKey, "id " + std::to_string(id) + " is outside the vocabulary");
    }
    add(static_cast<TokenId>(id), std::string(kMoreKey));
  }
  const auto add_text = [&](std::string_view text) {
    const TokenId id = vocabulary.Find(text);
    if (id == kNoToken || !(IsMarked(vocabulary.kind(id)) || LooksLikeMarker(text))) return;
    vocabulary.set_kind(id, TokenKind::kControl);
    add(id, "well-known text " + std::string(text));
  };
  // In Gemma's vocabularies </s> is the HTML tag, among others.
  const bool tag = eos != kNoToken && vocabulary.text(eos) == "<eos>";
  for (const std::string_view text : kWellKnown) {
    if (!tag || text != "</s>") add_text(text);
  }
  const auto has = [&](std::string_view text) {
    const TokenId id = vocabulary.Find(text);
    return id != kNoToken && IsMarked(vocabulary.kind(id));
  };
  // GLM ends its turn with the name of the next speaker.
  if (has("<|user|>") && has("<|observation|>")) {
    add_text("<|user|>");
    add_text("<|observation|>");
  }
  // In the formats with these, <|end|> ends a message and not the turn.
  if ((has("<|return|>") && has("<|call|>")) ||
      (has("<|flush|>") && (has("<|call|>") || has("<|calls|>")))) {
    const TokenId end = vocabulary.Find("<|end|>");
    std::erase_if(ends, [&](const auto& e) { return e.id == end; });
  }
  std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return ends;
}

}  // namespace vt::tok
