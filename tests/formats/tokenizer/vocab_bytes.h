// Small vocabularies as GGUF files, to break one key at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/gguf_bytes.h"
#include "formats/tokenizer/token_cases.h"

namespace vt::test {

inline std::string PackedStrings(const std::vector<std::string>& strings) {
  std::string out;
  for (const std::string& s : strings) out += Packed(std::string_view(s));
  return out;
}

template <class T>
std::string PackedArray(const std::vector<T>& values) {
  std::string out;
  for (const T value : values) out += Packed(value);
  return out;
}

// Keys under "tokenizer.ggml."; Set replaces, so that a test can change one of them.
class VocabBytes {
 public:
  VocabBytes& Set(const std::string& key, GgufType type, const std::string& value) {
    keys_["tokenizer.ggml." + key] = {type, value};
    return *this;
  }
  VocabBytes& SetText(const std::string& key, std::string_view value) {
    return Set(key, GgufType::kString, Packed(value));
  }
  VocabBytes& SetId(const std::string& key, std::uint32_t id) {
    return Set(key, GgufType::kU32, Packed(id));
  }
  VocabBytes& SetBool(const std::string& key, bool value) {
    return Set(key, GgufType::kBool, std::string(1, value ? '\1' : '\0'));
  }
  VocabBytes& SetArray(const std::string& key, GgufType element, std::uint64_t count,
                       const std::string& elements) {
    return Set(key, GgufType::kArray,
               Packed(static_cast<std::uint32_t>(element)) + Packed(count) + elements);
  }
  VocabBytes& SetStrings(const std::string& key, const std::vector<std::string>& strings) {
    return SetArray(key, GgufType::kString, strings.size(), PackedStrings(strings));
  }
  VocabBytes& SetKinds(const std::vector<std::int32_t>& kinds) {
    return SetArray("token_type", GgufType::kI32, kinds.size(), PackedArray(kinds));
  }
  VocabBytes& SetScores(const std::vector<float>& scores) {
    return SetArray("scores", GgufType::kF32, scores.size(), PackedArray(scores));
  }
  VocabBytes& Remove(const std::string& key) {
    keys_.erase("tokenizer.ggml." + key);
    return *this;
  }
  VocabBytes& SetName(std::string_view name) {
    keys_["general.name"] = {GgufType::kString, Packed(name)};
    return *this;
  }

  Result<Tokenizer> Load() const {
    GgufBytes bytes;
    for (const auto& [key, value] : keys_) bytes.Key(key, value.type, value.bytes);
    return LoadTokenizer(WriteFile(TempDir() + "/vocab.gguf", bytes.Bytes()));
  }

 private:
  struct Value {
    GgufType type;
    std::string bytes;
  };
  std::map<std::string, Value> keys_;
};

// Kinds as token_type has them.
enum : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

// "llama": <unk> <s> </s>, the 256 byte tokens, then `tokens` with scores -1, -2, ...
inline VocabBytes SpmVocab(const std::vector<std::string>& tokens) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> kinds = {kUnknown, kControl, kControl};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", byte);
    texts.push_back(text);
    kinds.push_back(kByte);
  }
  std::vector<float> scores(texts.size(), 0.0f);
  for (const std::string& token : tokens) {
    texts.push_back(token);
    kinds.push_back(kNormal);
    scores.push_back(-1.0f - static_cast<float>(scores.size() - 259));
  }
  VocabBytes vocab;
  vocab.SetText("model", "llama").SetStrings("tokens", texts).SetKinds(kinds).SetScores(scores);
  return vocab;
}
inline constexpr TokenId kFirstSpmToken = 259;

// "gpt2": the given ordinary tokens, then control tokens.
inline VocabBytes BpeVocab(const std::string& pre, std::vector<std::string> tokens,
                           const std::vector<std::string>& control,
                           const std::vector<std::string>& merges) {
  std::vector<std::int32_t> kinds(tokens.size(), kNormal);
  for (const std::string& text : control) {
    tokens.push_back(text);
    kinds.push_back(kControl);
  }
  VocabBytes vocab;
  vocab.SetText("model", "gpt2").SetText("pre", pre).SetStrings("tokens", tokens).SetKinds(kinds);
  return vocab.SetStrings("merges", merges);
}

}  // namespace vt::test
