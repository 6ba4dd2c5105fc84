// The tokenizer.json of Hugging Face folders against what Hugging Face's library makes of the same
// files, and against the GGUF vocabularies of the same models.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "formats/tokenizer/token_cases.h"
#include "support/safetensors_bytes.h"
#include "support/test_files.h"
#include "vt/gguf.h"
#include "vt/tokenizer.h"

namespace vt {
namespace {

using Json = nlohmann::ordered_json;

// A folder with hardly any weights.
class Folder {
 public:
  explicit Folder(std::uint64_t vocab) {
    config = {{"model_type", "qwen2"},  {"vocab_size", vocab},    {"hidden_size", 2},
              {"num_hidden_layers", 1}, {"intermediate_size", 1}, {"num_attention_heads", 1},
              {"rms_norm_eps", 1e-6}};
    test::SafetensorsBytes out;
    out.Tensor("model.norm.weight", "F32", {1}, test::F32Bytes({1}));
    test::WriteBytes(path + "/model.safetensors", out.Bytes());
  }
  void Write(const std::string& name, const std::string& text) const {
    test::WriteBytes(path + "/" + name, text);
  }
  Result<GgufFile> Open() const {
    Write("config.json", config.dump());
    return GgufFile::Open(path);
  }
  Result<Tokenizer> Load() const {
    const Result<GgufFile> file = Open();
    if (!file.ok()) return file.status();
    return Tokenizer::Load(*file);
  }

  std::string path = test::TempDir();
  Json config;
};

std::uint64_t SizeOf(const Json& tokenizer) {
  std::uint64_t size = tokenizer["model"]["vocab"].size();
  for (const Json& token : tokenizer["added_tokens"]) {
    size = std::max(size, token["id"].get<std::uint64_t>() + 1);
  }
  return size;
}

class HfTokenizer : public testing::TestWithParam<std::string> {
 protected:
  const Json data_ =
      Json::parse(test::ReadFile(test::DataPath("hf_tokenizers/" + GetParam() + ".json")));
};

TEST_P(HfTokenizer, AgreesWithTheLibrary) {
  const Folder folder(SizeOf(data_["tokenizer"]));
  folder.Write("tokenizer.json", data_["tokenizer"].dump());
  const Result<Tokenizer> tokenizer = folder.Load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_GT(data_["cases"].size(), 60u);
  const bool marked = tokenizer->facts().model != "gpt2";
  for (const Json& entry : data_["cases"]) {
    const std::string text = entry["text"];
    // The library takes a space mark of the text for a space; here it comes back as it was.
    if (marked && text.find("\u2581") != std::string::npos) continue;
    EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true, .add_special = false}),
              entry["ids"].get<std::vector<TokenId>>())
        << testing::PrintToString(text);
    // Ours never adds a second BOS or EOS to a text that has its own.
    const auto want = entry["with_special"].get<std::vector<TokenId>>();
    const auto& facts = tokenizer->facts();
    const bool doubled =
        (facts.add_bos && want.size() > 1 && want[0] == facts.bos && want[1] == facts.bos) ||
        (facts.add_eos && want.size() > 1 && want[want.size() - 1] == facts.eos &&
         want[want.size() - 2] == facts.eos);
    if (doubled) continue;
    EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true, .add_special = true}), want)
        << testing::PrintToString(text);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, HfTokenizer,
                         testing::Values("llama3", "qwen2", "gpt2", "digits", "steps", "gemma",
                                         "llama2", "metaspace"),
                         [](const auto& param) { return param.param; });

// How the model's own tokenizer.json differs from what GGUF keeps of it.
struct Published {
  std::string cases;          // of tests/data/tokenizers
  std::string pre_tokenizer;  // JSON
  std::string normalizer = "null";
  bool byte_fallback = false;
  bool ignore_merges = false;
};

#define VT_BYTE_LEVEL(REGEX) \
  R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":)" REGEX "}"
#define VT_SPLIT(PATTERN) \
  R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":")" PATTERN "\"}}"
#define VT_LLAMA3(DIGITS)                                                 \
  R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|)" DIGITS \
  R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)"
#define VT_SEQUENCE(PARTS) R"({"type":"Sequence","pretokenizers":[)" PARTS "]}"

class HfPublished : public testing::TestWithParam<Published> {};

// A tokenizer.json with the vocabulary and merges of a GGUF file.
Json FromGguf(const GgufFile& file, const Published& published) {
  Json out = {{"added_tokens", Json::array()},
              {"normalizer", Json::parse(published.normalizer)},
              {"pre_tokenizer", Json::parse(published.pre_tokenizer)},
              {"post_processor", nullptr},
              {"model",
               {{"type", "BPE"},
                {"byte_fallback", published.byte_fallback},
                {"ignore_merges", published.ignore_merges}}}};
  const auto& tokens = *file.Find("tokenizer.ggml.tokens")->strings;
  const GgufValue* const types = file.Find("tokenizer.ggml.token_type");
  // Into a map with an index: the other has none.
  nlohmann::json vocab = nlohmann::json::object();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string text(tokens[i]);
    const std::int64_t type = types ? types->ElementI64(i).value() : 1;
    if (type == 3 || type == 4) {
      out["added_tokens"].push_back(
          {{"id", i}, {"content", text}, {"special", type == 3}, {"normalized", false}});
    } else {
      vocab[text] = i;
    }
    if (type == 2) out["model"]["unk_token"] = text;
  }
  nlohmann::json merges = nlohmann::json::array();
  if (const GgufValue* const stored = file.Find("tokenizer.ggml.merges")) {
    for (const std::string_view merge : *stored->strings) merges.push_back(std::string(merge));
  } else {
    // Every pair of pieces that make a piece, the best-scored first.
    const GgufValue* const scores = file.Find("tokenizer.ggml.scores");
    std::vector<std::size_t> order;
    for (const auto& [text, id] : vocab.items()) order.push_back(id.get<std::size_t>());
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return *scores->ElementF64(a) > *scores->ElementF64(b);
    });
    for (const std::size_t id : order) {
      const std::string text(tokens[id]);
      if (types->ElementI64(id) == 6) continue;
      for (std::size_t cut = 1; cut < text.size(); ++cut) {
        if ((text[cut] & 0xC0) == 0x80) continue;
        const std::string left = text.substr(0, cut), right = text.substr(cut);
        if (vocab.contains(left) && vocab.contains(right)) merges.push_back({left, right});
      }
    }
  }
  out["model"]["vocab"] = std::move(vocab);
  out["model"]["merges"] = std::move(merges);
  return out;
}

TEST_P(HfPublished, GivesTheIdsOfTheGgufVocabulary) {
  const test::CaseFile cases = test::ReadCases(GetParam().cases);
  const auto path = cases.Path();
  if (!path) VT_NOT_RUN(cases.model);
  Result<GgufFile> source = GgufFile::Open(*path);
  ASSERT_TRUE(source.ok()) << source.status().message();
  const Folder folder(source->Find("tokenizer.ggml.tokens")->count);
  folder.Write("tokenizer.json", FromGguf(*source, GetParam()).dump());
  const Result<Tokenizer> tokenizer = folder.Load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  for (const test::TokenCase& entry : cases.cases) {
    EXPECT_EQ(tokenizer->Encode(entry.text, {.parse_special = true, .add_special = false}),
              entry.ids)
        << testing::PrintToString(entry.text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Vocabularies, HfPublished,
    testing::Values(
        Published{.cases = "llama-bpe",
                  .pre_tokenizer =
                      VT_SEQUENCE(VT_SPLIT(VT_LLAMA3(R"(\\p{N}{1,3})")) "," VT_BYTE_LEVEL("false")),
                  .ignore_merges = true},
        Published{.cases = "qwen2",
                  .pre_tokenizer =
                      VT_SEQUENCE(VT_SPLIT(VT_LLAMA3(R"(\\p{N})")) "," VT_BYTE_LEVEL("false")),
                  .normalizer = R"({"type":"NFC"})"},
        Published{.cases = "gpt-2", .pre_tokenizer = VT_BYTE_LEVEL("true")},
        Published{.cases = "starcoder",
                  .pre_tokenizer = VT_SEQUENCE(R"({"type":"Digits","individual_digits":true})"
                                               "," VT_BYTE_LEVEL("true"))},
        Published{.cases = "gemma-4",
                  .pre_tokenizer = R"({"type":"Split","behavior":"MergedWithPrevious",)"
                                   R"("invert":false,"pattern":{"String":" "}})",
                  .normalizer = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})",
                  .byte_fallback = true},
        Published{.cases = "llama-spm",
                  .pre_tokenizer = "null",
                  .normalizer = R"({"type":"Sequence","normalizers":[)"
                                R"({"type":"Prepend","prepend":"▁"},)"
                                R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]})",
                  .byte_fallback = true}),
    [](const auto& param) {
      std::string name = param.param.cases;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

class HfTokenizerFiles : public testing::Test {
 protected:
  HfTokenizerFiles() {
    tokenizer_ = Json::parse(R"({
      "added_tokens": [{"id": 2, "content": "<s>", "special": true},
                       {"id": 3, "content": "<e>", "special": true}],
      "normalizer": null, "post_processor": null,
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 4}, "merges": [["a", "b"]]}})");
  }
  Result<Tokenizer> Load() {
    folder_.Write("tokenizer.json", tokenizer_.dump());
    return folder_.Load();
  }
  std::string Message(Code code) {
    const Result<Tokenizer> tokenizer = Load();
    if (tokenizer.ok()) return "no error";
    EXPECT_EQ(tokenizer.status().code(), code);
    std::string text = tokenizer.status().message();
    for (std::size_t at = 0; (at = text.find(folder_.path + "/")) != std::string::npos;) {
      text.erase(at, folder_.path.size() + 1);
    }
    return text;
  }
  const Result<GgufFile>& Reopen() {
    file_ = folder_.Open();
    if (!file_.ok()) throw std::runtime_error(file_.status().message());
    return file_;
  }

  Folder folder_{6};
  Json tokenizer_;
  Result<GgufFile> file_ = Status(Code::kInternal, "not opened");
};

TEST_F(HfTokenizerFiles, KindsAndIds) {
  folder_.Write("tokenizer_config.json",
                R"({"bos_token":"<s>","eos_token":{"content":"<e>"},"add_bos_token":true})");
  folder_.Write("generation_config.json", R"({"eos_token_id":[3,4]})");
  const Result<Tokenizer> tokenizer = Load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const TokenizerFacts& facts = tokenizer->facts();
  EXPECT_EQ(facts.vocab_size, 6u);
  EXPECT_EQ(facts.bos, 2);
  EXPECT_EQ(facts.eos, 3);
  EXPECT_TRUE(facts.add_bos);
  EXPECT_FALSE(facts.add_eos);
  EXPECT_EQ(tokenizer->kind(2), TokenKind::kControl);
  EXPECT_EQ(tokenizer->kind(4), TokenKind::kNormal);
  EXPECT_EQ(tokenizer->kind(5), TokenKind::kUnused);
  EXPECT_EQ(tokenizer->raw_text(5), "[PAD5]");
  ASSERT_EQ(facts.end_tokens.size(), 2u);
  EXPECT_EQ(facts.end_tokens[1].id, 4);
  EXPECT_EQ(facts.end_tokens[1].source, "tokenizer.vt.end_token_ids");
  EXPECT_EQ(tokenizer->Encode("ab"), (std::vector<TokenId>{2, 4}));
}

TEST_F(HfTokenizerFiles, TokensWithoutAnEmbeddingAreLeftOut) {
  folder_.config["vocab_size"] = 3;
  const Result<Tokenizer> tokenizer = Load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->vocab_size(), 3u);
  EXPECT_EQ(tokenizer->Find("<e>"), kNoToken);
}

TEST_F(HfTokenizerFiles, WithoutOneTheModelStillOpens) {
  EXPECT_EQ(folder_.Load().status().message(),
            folder_.path +
                "/config.json: the folder has no tokenizer.json; give token ids instead of text");
  EXPECT_EQ(folder_.Load().status().code(), Code::kUnsupported);
}

TEST_F(HfTokenizerFiles, KindsThatAreNotKnown) {
  const std::string end = "; give token ids instead of text",
                    begin = "config.json: tokenizer.json: ";
  const Json good = tokenizer_;
  const auto with = [&](const char* pointer, const char* value) {
    tokenizer_ = good;
    tokenizer_[Json::json_pointer(pointer)] = Json::parse(value);
    return Message(Code::kUnsupported);
  };
  EXPECT_EQ(with("/model/type", R"("Unigram")"),
            begin + "model type \"Unigram\" is not known (known: BPE)" + end);
  EXPECT_EQ(with("/normalizer", R"({"type":"Lowercase"})"),
            begin +
                "normalizer \"Lowercase\" is not known (known: NFC, and Prepend and Replace of "
                "U+2581)" +
                end);
  EXPECT_EQ(with("/pre_tokenizer/type", R"("Whitespace")"),
            begin +
                "pre_tokenizer \"Whitespace\" is not known (known: ByteLevel, Digits, Metaspace, "
                "Punctuation, Split)" +
                end);
  EXPECT_EQ(with("/pre_tokenizer/add_prefix_space", "true"),
            begin + "pre_tokenizer ByteLevel: add_prefix_space is not known (want false)" + end);
  EXPECT_EQ(with("/pre_tokenizer", "null"),
            begin + "neither ByteLevel nor U+2581 for spaces (one is wanted)" + end);
  EXPECT_EQ(
      with("/model/end_of_word_suffix", R"("</w>")"),
      begin + "continuing_subword_prefix and end_of_word_suffix are not known (want none)" + end);
  EXPECT_EQ(with("/added_tokens/0/single_word", "true"),
            begin + "added token \"<s>\": single_word is not known" + end);
  // What the library's regular expressions can and ours cannot.
  tokenizer_ = good;
  tokenizer_["pre_tokenizer"] =
      Json::parse(VT_SEQUENCE(VT_SPLIT(R"([\\p{L}&&[^a]]\\K(*))") "," VT_BYTE_LEVEL("false")));
  EXPECT_NE(Message(Code::kUnsupported).find("does not compile"), std::string::npos);
}

TEST_F(HfTokenizerFiles, Damage) {
  const Json good = tokenizer_;
  folder_.Write("tokenizer.json", "{\"model\":{\"vocab\":{\"a\":");
  EXPECT_EQ(folder_.Open().status().message(),
            folder_.path + "/tokenizer.json: not valid: no number where one is wanted (byte 23)");
  tokenizer_["model"]["vocab"]["c"] = 4;
  EXPECT_EQ(Message(Code::kCorrupt),
            "tokenizer.json: id 4 is token \"ab\" and token \"c\" (want one text for each id)");
  tokenizer_ = good;
  tokenizer_["added_tokens"][0]["content"] = "a";
  EXPECT_EQ(Message(Code::kCorrupt),
            "tokenizer.json: token \"a\" has ids 0 and 2 (want one id for each text)");
  tokenizer_ = good;
  tokenizer_["model"]["merges"][0] = Json::array({"a"});
  EXPECT_EQ(Message(Code::kCorrupt).substr(0, 47),
            "tokenizer.json: not valid: a merge with one par");
}

TEST_F(HfTokenizerFiles, DamageIsAnErrorOrHarmless) {
  const std::string good = tokenizer_.dump();
  std::size_t loaded = 0, refused = 0;
  const auto load = [&](const std::string& text) {
    folder_.Write("tokenizer.json", text);
    const Result<Tokenizer> tokenizer = folder_.Load();
    ++(tokenizer.ok() ? loaded : refused);
    if (tokenizer.ok()) tokenizer->Encode("ab <s> \xff", {.parse_special = true});
  };
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      load(bad);
    }
    load(good.substr(0, at));
  }
  EXPECT_GT(loaded, 0u);
  EXPECT_GT(refused, 1000u);
}

TEST_F(HfTokenizerFiles, ChatTemplates) {
  folder_.Write("tokenizer.json", tokenizer_.dump());
  folder_.Write("tokenizer_config.json", R"({"chat_template":"one"})");
  EXPECT_EQ(Reopen()->GetString("tokenizer.chat_template").value(), "one");
  folder_.Write("tokenizer_config.json", R"({"chat_template":[{"name":"tool","template":"t"},)"
                                         R"({"name":"default","template":"d"}]})");
  EXPECT_EQ(Reopen()->GetString("tokenizer.chat_template").value(), "d");
  folder_.Write("chat_template.jinja", "of its own");
  EXPECT_EQ(Reopen()->GetString("tokenizer.chat_template").value(), "of its own");
  folder_.Write("chat_template.jinja", "\xff");
  EXPECT_EQ(folder_.Open().status().message(), folder_.path + "/chat_template.jinja: is not UTF-8");
}

}  // namespace
}  // namespace vt
