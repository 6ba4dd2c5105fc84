#include "formats/tokenizer/special_ids.h"

#include <string>

namespace vt::tok {
namespace {

// Of a model whose file does not say.
struct Defaults {
  TokenId bos = kNoToken, eos = kNoToken, unk = kNoToken, sep = kNoToken, pad = kNoToken;
  bool add_bos = false, add_space_prefix = false;
};

Defaults DefaultsOf(std::string_view model, const PreRule* rule) {
  if (model == "llama") {
    return {.bos = 1, .eos = 2, .unk = 0, .add_bos = true, .add_space_prefix = true};
  }
  if (model == "bert") {
    return {.bos = 101, .unk = 100, .sep = 102, .pad = 0, .add_bos = true};
  }
  Defaults defaults{.bos = 11, .eos = 11};
  if (model != "gpt2" || rule->no_default_bos) defaults.bos = kNoToken;
  if (model != "gpt2" || rule->from_file) defaults.eos = kNoToken;
  defaults.add_bos = rule->add_bos;
  return defaults;
}

Status ReadFlag(const GgufFile& file, std::string_view key, bool& flag) {
  VT_ASSIGN_OR_RETURN(const std::optional<bool> value, file.GetBool(key));
  flag = value.value_or(flag);
  return {};
}

}  // namespace

Result<TokenId> ReadTokenId(const GgufFile& file, const Vocabulary& vocabulary,
                            std::string_view key, TokenId missing) {
  VT_ASSIGN_OR_RETURN(const std::optional<std::uint64_t> id, file.GetU64(key));
  if (!id) return missing;
  if (*id >= vocabulary.size()) {
    return BadKey(file, key,
                  "id " + std::to_string(*id) + " is outside the vocabulary (want 0 to " +
                      std::to_string(vocabulary.size() - 1) + ")");
  }
  return static_cast<TokenId>(*id);
}

Status ReadSpecialIds(const GgufFile& file, const Vocabulary& vocabulary, const PreRule* rule,
                      TokenizerFacts& facts) {
  const Defaults defaults = DefaultsOf(facts.model, rule);
  const auto read = [&](std::string_view key, TokenId missing, TokenId& id) -> Status {
    // A default holds only where the vocabulary agrees that the token is special.
    if (missing != kNoToken &&
        (!vocabulary.Has(missing) || (vocabulary.kind(missing) != TokenKind::kControl &&
                                      vocabulary.kind(missing) != TokenKind::kUnknown))) {
      missing = kNoToken;
    }
    VT_ASSIGN_OR_RETURN(id, ReadTokenId(file, vocabulary, key, missing));
    return {};
  };
  VT_RETURN_IF_ERROR(read("tokenizer.ggml.bos_token_id", defaults.bos, facts.bos));
  VT_RETURN_IF_ERROR(read(kEosKey, defaults.eos, facts.eos));
  VT_RETURN_IF_ERROR(read("tokenizer.ggml.unknown_token_id", defaults.unk, facts.unk));
  VT_RETURN_IF_ERROR(read("tokenizer.ggml.seperator_token_id", defaults.sep, facts.sep));
  VT_RETURN_IF_ERROR(read("tokenizer.ggml.padding_token_id", defaults.pad, facts.pad));
  // Not used here, but as good a sign of a damaged file.
  for (const std::string_view key :
       {"tokenizer.ggml.cls_token_id", "tokenizer.ggml.mask_token_id",
        "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.fim_suf_token_id",
        "tokenizer.ggml.fim_mid_token_id"}) {
    VT_RETURN_IF_ERROR(ReadTokenId(file, vocabulary, key, kNoToken).status());
  }

  facts.add_bos = defaults.add_bos;
  facts.add_space_prefix = defaults.add_space_prefix;
  VT_RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.add_bos_token", facts.add_bos));
  VT_RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.add_eos_token", facts.add_eos));
  VT_RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.add_space_prefix", facts.add_space_prefix));
  if (facts.model == "bert") {
    // CLS before and SEP after, always; pieces that begin a word decode with a space.
    if (facts.bos == kNoToken) {
      VT_ASSIGN_OR_RETURN(facts.bos,
                          ReadTokenId(file, vocabulary, "tokenizer.ggml.cls_token_id", kNoToken));
    }
    facts.add_bos = facts.add_eos = facts.add_space_prefix = true;
  } else if (facts.model != "llama") {
    facts.add_space_prefix = false;  // the key has no meaning for merges inside words
  }
  if (rule != nullptr && rule->force_bos) facts.add_bos = true;
  // A flag without its token adds nothing.
  facts.add_bos = facts.add_bos && facts.bos != kNoToken;
  facts.add_eos = facts.add_eos && (facts.model == "bert" ? facts.sep : facts.eos) != kNoToken;
  return {};
}

}  // namespace vt::tok
