#include "cli/model_prompts.h"

#include <utility>

#include "base/json_writer.h"

namespace vt::cli {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

Result<std::string> TemplateSource(const RunInput& input, const OpenedModel* model) {
  if (input.chat_template) return *input.chat_template;
  if (model) {
    VT_ASSIGN_OR_RETURN(const auto source, model->file.GetString(kTemplateKey));
    if (source) return std::string(*source);
  }
  return InvalidError("chat template: the model has none (no key " + std::string(kTemplateKey) +
                      "); give one with --chat-template FILE, or give a raw prompt");
}

std::optional<std::string> TokenText(const OpenedModel* model, TokenId TokenizerFacts::*token) {
  if (!model || !model->tokenizer) return std::nullopt;
  const TokenId id = model->tokenizer->facts().*token;
  if (id == kNoToken) return std::nullopt;
  return ValidUtf8(model->tokenizer->raw_text(id));
}

Result<ChatRenderer> MakeRenderer(const RunOptions& options, const RunInput& input,
                                  const OpenedModel* model) {
  VT_ASSIGN_OR_RETURN(const std::string source, TemplateSource(input, model));
  ChatRenderer::Options render;
  render.bos_text = options.bos_text ? options.bos_text : TokenText(model, &TokenizerFacts::bos);
  render.eos_text = options.eos_text ? options.eos_text : TokenText(model, &TokenizerFacts::eos);
  render.now = options.now ? *options.now : LocalNow();
  if (model && model->tokenizer) {
    const Tokenizer& tokenizer = *model->tokenizer;
    for (TokenId id = 0; static_cast<std::uint64_t>(id) < tokenizer.vocab_size(); ++id) {
      const TokenKind kind = tokenizer.kind(id);
      if (kind != TokenKind::kControl && kind != TokenKind::kUnknown) continue;
      if (tokenizer.raw_text(id).empty()) continue;
      render.control_texts.emplace(tokenizer.raw_text(id));
    }
  }
  return ChatRenderer::Make(source, std::move(render));
}

}  // namespace

Result<OpenedModel> OpenModel(const std::string& path, bool with_spec) {
  VT_ASSIGN_OR_RETURN(GgufFile file, GgufFile::Open(path));
  OpenedModel model{std::move(file), std::nullopt, std::nullopt, Status()};
  if (with_spec) {
    VT_ASSIGN_OR_RETURN(model.spec, ReadModelSpec(model.file));
  }
  Result<Tokenizer> tokenizer = Tokenizer::Load(model.file);
  if (tokenizer.ok()) {
    model.tokenizer.emplace(std::move(*tokenizer));
  } else if (tokenizer.status().code() == Code::kUnsupported) {
    model.no_tokenizer = tokenizer.status();
  } else {
    return tokenizer.status();
  }
  return model;
}

Result<PromptMaker> PromptMaker::Make(const RunOptions& options, const RunInput& input,
                                      const OpenedModel* model) {
  PromptMaker maker(options, model);
  bool chats = options.chat || !options.messages_file.empty();
  for (const PromptItem& item : input.items) chats = chats || item.conversation;
  if (chats) {
    VT_ASSIGN_OR_RETURN(maker.renderer_, MakeRenderer(options, input, model));
  }
  return maker;
}

Result<std::string> PromptMaker::Text(const PromptItem& item) const {
  if (item.tokens) return InvalidError("tokens: have no text before a vocabulary reads them");
  if (!item.conversation) return *item.text;
  VT_ASSIGN_OR_RETURN(RenderedPrompt prompt, renderer_->Render(*item.conversation));
  return std::move(prompt.text);
}

Result<std::vector<TokenId>> PromptMaker::Encode(const PromptItem& item) const {
  if (item.tokens) return *item.tokens;
  if (!model_->tokenizer) return model_->no_tokenizer;
  EncodeOptions encode;
  encode.add_special = !options_->no_bos;
  if (item.conversation) {
    VT_ASSIGN_OR_RETURN(const RenderedPrompt prompt, renderer_->Render(*item.conversation));
    encode.parse_special = true;
    encode.literal_offsets = prompt.literal_offsets;
    return model_->tokenizer->Encode(prompt.text, encode);
  }
  encode.parse_special = options_->special;
  std::vector<TokenId> tokens = model_->tokenizer->Encode(*item.text, encode);
  // Text from nothing starts at the token that begins a text.
  const TokenId bos = model_->tokenizer->facts().bos;
  if (tokens.empty() && bos != kNoToken && !options_->no_bos) tokens.push_back(bos);
  return tokens;
}

Result<std::vector<TokenId>> PromptMaker::Tokens(const PromptItem& item) const {
  VT_ASSIGN_OR_RETURN(std::vector<TokenId> tokens, Encode(item));
  if (tokens.empty() && options_->mode == kGenerate) {
    return InvalidError("prompt: has no tokens, so there is nothing to continue; give some text");
  }
  const std::uint64_t vocab = model_->spec        ? static_cast<std::uint64_t>(model_->spec->vocab)
                              : model_->tokenizer ? model_->tokenizer->vocab_size()
                                                  : 0;
  if (vocab == 0) return model_->no_tokenizer;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (static_cast<std::uint64_t>(tokens[i]) < vocab && tokens[i] >= 0) continue;
    return InvalidError("token id " + std::to_string(tokens[i]) + " at position " +
                        std::to_string(i) + ": outside the vocabulary (allowed: 0 to " +
                        std::to_string(vocab - 1) + ")");
  }
  return tokens;
}

Status CheckContext(std::size_t prompt_tokens, std::int64_t context, const ModelSpec& spec) {
  if (prompt_tokens <= static_cast<std::size_t>(context)) return Status();
  return InvalidError("prompt: " + std::to_string(prompt_tokens) +
                      " tokens do not fit the context of " + std::to_string(context) +
                      " positions (the model was trained on " + std::to_string(spec.context_train) +
                      "); raise --ctx or shorten the prompt");
}

}  // namespace vt::cli
