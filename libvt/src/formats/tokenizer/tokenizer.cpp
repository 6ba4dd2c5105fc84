#include "vt/tokenizer.h"

#include <algorithm>
#include <cctype>

#include "formats/file_error.h"
#include "formats/tokenizer/end_tokens.h"
#include "formats/tokenizer/joiner.h"
#include "formats/tokenizer/own_pre_rule.h"
#include "formats/tokenizer/special_ids.h"
#include "formats/tokenizer/special_matcher.h"
#include "formats/tokenizer/text_encoder.h"

namespace vt {

struct Tokenizer::Impl {
  TokenizerFacts facts;
  std::unique_ptr<tok::OwnPreRule> own_rule;  // of a file that brings its own patterns
  tok::Vocabulary vocabulary;
  std::unique_ptr<tok::TextEncoder> encoder;
  tok::SpecialMatcher user_defined;  // matched always
  tok::SpecialMatcher all_special;   // with parse_special

  Status MakeMatchers(const GgufFile& file);
};

namespace {

using tok::SpecialToken;

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
constexpr std::string_view kUnsupportedKey = "tokenizer.vt.unsupported";
constexpr std::string_view kModels = "bert, gemma4, gpt2, llama";

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Which special tokens eat the white space beside them; files have no key for it, so it goes by the
// name of the model, its architecture or its pre-tokenizer.
struct StripRules {
  bool right_of_all = false;   // but for the three of kKeepRight
  std::string_view left_of{};  // one token
};

StripRules StripRulesOf(std::string_view name, std::string_view architecture,
                        std::string_view pre) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (Contains(pre, "jina-v2-") || Contains(pre, "mmbert") ||
      Contains(architecture, "nomic-bert-moe") || Contains(architecture, "jina-bert-v3")) {
    return {.left_of = "<mask>"};
  }
  if (Contains(lower, "phi-3") || Contains(lower, "phi3")) return {.right_of_all = true};
  if (Contains(lower, "modern-bert")) return {.left_of = "[MASK]"};
  return {};
}

// The ids under `key`, which says for each token whether it eats the white space on one side.
Status ReadStrips(const GgufFile& file, std::string_view key, std::uint64_t tokens,
                  std::vector<bool>& strips) {
  VT_ASSIGN_OR_RETURN(const GgufValue* ids, file.GetNumberArray(key));
  strips.assign(static_cast<std::size_t>(tokens), false);
  for (std::uint64_t i = 0; ids != nullptr && i < ids->count; ++i) {
    const std::int64_t id = ids->ElementI64(i).value_or(-1);
    if (id < 0 || static_cast<std::uint64_t>(id) >= tokens) {
      return tok::BadKey(file, key, "id " + std::to_string(id) + " is outside the vocabulary");
    }
    strips[static_cast<std::size_t>(id)] = true;
  }
  return {};
}

std::string_view StringOr(const GgufFile& file, std::string_view key, std::string_view missing) {
  const GgufValue* value = file.Find(key);
  return value != nullptr && value->type == GgufType::kString ? value->text : missing;
}

}  // namespace

Status Tokenizer::Impl::MakeMatchers(const GgufFile& file) {
  constexpr std::string_view kKeepRight[] = {"<unk>", "<s>", "<|endoftext|>"};
  const StripRules rules = StripRulesOf(StringOr(file, "general.name", ""),
                                        StringOr(file, "general.architecture", ""), facts.pre);
  std::vector<bool> left, right;
  VT_RETURN_IF_ERROR(ReadStrips(file, "tokenizer.vt.strip_left_ids", vocabulary.size(), left));
  VT_RETURN_IF_ERROR(ReadStrips(file, "tokenizer.vt.strip_right_ids", vocabulary.size(), right));
  std::vector<SpecialToken> user, all;
  for (std::uint32_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = vocabulary.kind(id);
    if (kind != TokenKind::kControl && kind != TokenKind::kUserDefined &&
        kind != TokenKind::kUnknown) {
      continue;
    }
    const std::string_view stored = vocabulary.text(id);
    SpecialToken token{.id = id, .text = std::string(stored)};
    token.strip_left = left[i] || stored == rules.left_of;
    token.strip_right =
        right[i] || (rules.right_of_all && std::find(std::begin(kKeepRight), std::end(kKeepRight),
                                                     stored) == std::end(kKeepRight));
    if (kind == TokenKind::kUserDefined) {
      token.text = vocabulary.Bytes(id, true);
      if (token.strip_left || token.strip_right) facts.decode_is_exact = false;
      user.push_back(token);
    }
    all.push_back(std::move(token));
  }
  user_defined = tok::SpecialMatcher(std::move(user));
  all_special = tok::SpecialMatcher(std::move(all));
  return {};
}

Tokenizer::Tokenizer() : impl_(std::make_unique<Impl>()) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::Load(const GgufFile& file) {
  Tokenizer tokenizer;
  Impl& impl = *tokenizer.impl_;
  TokenizerFacts& facts = impl.facts;
  const std::string& path = file.shards().front().path;

  VT_ASSIGN_OR_RETURN(const auto reason, file.GetString(kUnsupportedKey));
  if (reason) return Status(Code::kUnsupported, path + ": " + std::string(*reason), path);
  VT_ASSIGN_OR_RETURN(const auto model, file.GetString(kModelKey));
  if (!model)
    return tok::BadKey(file, kModelKey, "missing (want one of " + std::string(kModels) + ")");
  facts.model = *model;
  VT_ASSIGN_OR_RETURN(const auto pre, file.GetString(kPreKey));
  facts.pre = pre.value_or("");

  const bool merges = facts.model == "gpt2" || facts.model == "gemma4";
  if (!merges && facts.model != "llama" && facts.model != "bert") {
    return FileUnsupported(path, "key " + Quoted(kModelKey) + ": unknown tokenizer model " +
                                     Quoted(facts.model) + " (known: " + std::string(kModels) +
                                     "); give token ids instead of text");
  }
  const tok::PreRule* rule = nullptr;
  tok::TextForm form = tok::TextForm::kMarkedSpaces;
  if (merges) {
    VT_ASSIGN_OR_RETURN(impl.own_rule, tok::ReadOwnPreRule(file, facts.model == "gemma4"));
    rule = impl.own_rule
               ? &impl.own_rule->rule
               : tok::FindPreRule(facts.model == "gemma4" ? "gemma4" : std::string_view(facts.pre));
    if (rule == nullptr) {
      return FileUnsupported(path, "key " + Quoted(kPreKey) + ": unknown pre-tokenizer " +
                                       Quoted(facts.pre) + " (known: " + tok::KnownPreRules() +
                                       "); give token ids instead of text");
    }
    if (!rule->utf8) form = tok::TextForm::kByteLevel;
    if (rule->utf8 && !rule->space_marks) form = tok::TextForm::kPlain;
  }
  VT_ASSIGN_OR_RETURN(impl.vocabulary, tok::Vocabulary::Load(file, form));
  facts.vocab_size = impl.vocabulary.size();
  VT_RETURN_IF_ERROR(tok::ReadSpecialIds(file, impl.vocabulary, rule, facts));
  VT_ASSIGN_OR_RETURN(facts.end_tokens, tok::FindEndTokens(file, impl.vocabulary, facts.eos));
  impl.vocabulary.set_unknown(facts.unk);
  facts.decode_is_exact = facts.model != "bert" && impl.vocabulary.has_all_bytes() &&
                          !(rule != nullptr && rule->mark_starts);
  VT_RETURN_IF_ERROR(impl.MakeMatchers(file));

  if (merges) {
    VT_ASSIGN_OR_RETURN(impl.encoder, tok::MakeBpeEncoder(file, impl.vocabulary, *rule));
  } else if (facts.model == "llama") {
    impl.encoder = tok::MakeSpmEncoder(impl.vocabulary, facts.add_space_prefix);
  } else {
    tok::WordPieceOptions options{.unknown = facts.unk};
    VT_ASSIGN_OR_RETURN(const auto lowercase, file.GetBool("tokenizer.ggml.normalizer.lowercase"));
    VT_ASSIGN_OR_RETURN(const auto strip, file.GetBool("tokenizer.ggml.normalizer.strip_accents"));
    options.lowercase = lowercase.value_or(true);
    options.strip_accents = strip.value_or(options.lowercase);
    impl.encoder = tok::MakeWordPieceEncoder(impl.vocabulary, options);
  }
  return tokenizer;
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  const TokenizerFacts& facts = impl_->facts;
  const TokenId end = facts.model == "bert" ? facts.sep : facts.eos;
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4 + 2);
  const bool add_bos = options.add_special && facts.add_bos;
  if (add_bos) ids.push_back(facts.bos);
  const tok::SpecialMatcher& matcher =
      options.parse_special ? impl_->all_special : impl_->user_defined;
  const auto session = impl_->encoder->Begin(text.size());
  bool after_special = true;
  bool ends = false;  // the text itself ends with the end token
  for (const tok::Fragment& fragment : matcher.Split(text, options.literal_offsets)) {
    if (fragment.special == kNoToken) {
      session->Encode(fragment.text, after_special, ids);
    } else if (!(add_bos && ids.size() == 1 && fragment.special == facts.bos)) {
      ids.push_back(fragment.special);
    }
    after_special = fragment.special != kNoToken;
    ends = after_special && fragment.special == end;
  }
  if (options.add_special && facts.add_eos && !ends) ids.push_back(end);
  return ids;
}

std::string Tokenizer::Piece(TokenId id, bool special) const {
  return impl_->vocabulary.Bytes(id, special);
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool special) const {
  std::string text;
  bool drop_space = true;
  for (const TokenId id : ids) text += tok::JoinPiece(*this, id, special, drop_space);
  return text;
}

const TokenizerFacts& Tokenizer::facts() const { return impl_->facts; }
std::uint64_t Tokenizer::vocab_size() const { return impl_->facts.vocab_size; }

TokenKind Tokenizer::kind(TokenId id) const {
  return impl_->vocabulary.Has(id) ? impl_->vocabulary.kind(id) : TokenKind::kUnknown;
}

std::string_view Tokenizer::raw_text(TokenId id) const {
  return impl_->vocabulary.Has(id) ? impl_->vocabulary.text(id) : std::string_view();
}

TokenId Tokenizer::Find(std::string_view raw_text) const {
  return impl_->vocabulary.Find(raw_text);
}

bool Tokenizer::IsEnd(TokenId id) const {
  const auto& ends = impl_->facts.end_tokens;
  return std::any_of(ends.begin(), ends.end(), [&](const auto& end) { return end.id == id; });
}

}  // namespace vt
