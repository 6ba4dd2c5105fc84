// --describe: vt.model/1.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

json Describe(const std::string& path) {
  const Outcome outcome = RunVt({"-m", path, "--describe"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  json document = json::parse(outcome.out);
  EXPECT_EQ(SchemaErrors(document, "vt.model.schema.json"), "");
  return document;
}

// The bytes of a GGUF v3 header.
class HeaderBytes {
 public:
  template <class T>
  void Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Text(const std::string& text) {
    Number(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void KeyU32(const std::string& key, std::uint32_t value) {
    Text(key);
    Number(std::uint32_t{4});
    Number(value);
  }
  void KeyF32(const std::string& key, float value) {
    Text(key);
    Number(std::uint32_t{6});
    Number(value);
  }
  void KeyText(const std::string& key, const std::string& value) {
    Text(key);
    Number(std::uint32_t{8});
    Text(value);
  }
  void Tensor(const std::string& name, std::vector<std::uint64_t> dims) {
    Text(name);
    Number(static_cast<std::uint32_t>(dims.size()));
    std::uint64_t bytes = 4;
    for (const std::uint64_t dim : dims) {
      Number(dim);
      bytes *= dim;
    }
    Number(std::uint32_t{0});  // f32
    Number(data_bytes_);
    data_bytes_ += (bytes + 31) / 32 * 32;
  }
  // The file: header, then as many zero bytes as the tensors need.
  std::string WriteFile() const {
    std::string bytes = bytes_;
    bytes.resize((bytes.size() + 31) / 32 * 32);
    const std::string path = WriteTemp("many.gguf", bytes);
    EXPECT_EQ(truncate(path.c_str(), static_cast<off_t>(bytes.size() + data_bytes_)), 0);
    return path;
  }

 private:
  std::string bytes_;
  std::uint64_t data_bytes_ = 0;
};

// A llama of 222 layers and 2,000 tensors of honest sizes, all holes.
std::string ManyTensors() {
  constexpr std::uint64_t kWidth = 4096, kFfn = 11008, kVocab = 32000;
  constexpr int kLayers = 222;
  HeaderBytes header;
  header.Number(std::uint32_t{0x46554747});  // "GGUF"
  header.Number(std::uint32_t{3});
  header.Number(std::uint64_t{kLayers * 9 + 2});
  header.Number(std::uint64_t{9});
  header.KeyText("general.architecture", "llama");
  header.KeyU32("llama.context_length", 4096);
  header.KeyU32("llama.embedding_length", kWidth);
  header.KeyU32("llama.block_count", kLayers);
  header.KeyU32("llama.feed_forward_length", kFfn);
  header.KeyU32("llama.attention.head_count", 32);
  header.KeyU32("llama.rope.dimension_count", 128);
  header.KeyF32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  header.KeyText("tokenizer.ggml.model", "none");
  header.Tensor("token_embd.weight", {kWidth, kVocab});
  header.Tensor("output_norm.weight", {kWidth});
  for (int i = 0; i < kLayers; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      header.Tensor(block + name + ".weight", {kWidth, kWidth});
    }
    header.Tensor(block + "attn_norm.weight", {kWidth});
    header.Tensor(block + "ffn_norm.weight", {kWidth});
    header.Tensor(block + "ffn_gate.weight", {kWidth, kFfn});
    header.Tensor(block + "ffn_up.weight", {kWidth, kFfn});
    header.Tensor(block + "ffn_down.weight", {kFfn, kWidth});
  }
  return header.WriteFile();
}

TEST(Describe, TwoThousandTensorsInAnInstant) {
  const std::string path = ManyTensors();
  double best = 1e9;
  long peak_kib = 0;
  // The quickest of five: what the machine does besides is not the program's.
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = RunVt({"-m", path, "--describe"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    best = std::min(best, outcome.seconds);
    peak_kib = std::max(peak_kib, outcome.peak_resident_kib);
  }
  if (kMeasured) {
    EXPECT_LT(best, 0.1);
    EXPECT_LT(peak_kib, 64 * 1024);
  }
  const json document = Describe(path);
  EXPECT_EQ(document["tensors"].size(), 2000u);
  EXPECT_EQ(document["hyper_parameters"]["layers"]["count"], 222);
  EXPECT_EQ(document["hyper_parameters"]["tied_embeddings"], true);
}

TEST(Describe, TinyModels) {
  const json document = Describe(TinyPath("llama-dense.gguf"));
  EXPECT_EQ(document["model"]["architecture"], "llama");
  EXPECT_EQ(document["supported"], true);
  EXPECT_TRUE(document["tokenizer"].is_null());
  EXPECT_NE(document["no_tokenizer_reason"].get<std::string>().find("test"), std::string::npos);
  std::uint64_t end = 0;
  for (const json& tensor : document["tensors"]) {
    EXPECT_EQ(tensor["used"], true) << tensor;
    end =
        std::max(end, tensor["offset"].get<std::uint64_t>() + tensor["bytes"].get<std::uint64_t>());
  }
  EXPECT_EQ(end, document["model"]["bytes"].get<std::uint64_t>());
}

TEST(Describe, MetadataIsTheHeaders) {
  // GGUF metadata value types by name, as the specification numbers them.
  HeaderBytes header;
  header.Number(std::uint32_t{0x46554747});
  header.Number(std::uint32_t{3});
  header.Number(std::uint64_t{0});
  header.Number(std::uint64_t{7});
  header.KeyText("general.architecture", "lemur");
  header.KeyU32("lemur.block_count", 4000000000u);
  header.KeyF32("lemur.scale", 0.1f);
  header.KeyText("tokenizer.chat_template", std::string(4096, 'x'));
  header.Text("lemur.windows");
  header.Number(std::uint32_t{9});
  header.Number(std::uint32_t{5});
  header.Number(std::uint64_t{2});
  header.Number(std::int32_t{-1});
  header.Number(std::int32_t{512});
  header.Text("tokenizer.ggml.tokens");
  header.Number(std::uint32_t{9});
  header.Number(std::uint32_t{8});
  header.Number(std::uint64_t{2});
  header.Text("a");
  header.Text("b");
  header.KeyText("tokenizer.ggml.model", "none");
  const json document = Describe(header.WriteFile());
  const json want = json::parse(R"([
    {"key": "general.architecture", "type": "string", "of": null, "count": null, "bytes": 5,
     "value": "lemur"},
    {"key": "lemur.block_count", "type": "u32", "of": null, "count": null, "bytes": null,
     "value": 4000000000},
    {"key": "lemur.scale", "type": "f32", "of": null, "count": null, "bytes": null, "value": 0.1},
    {"key": "tokenizer.chat_template", "type": "string", "of": null, "count": null, "bytes": 4096,
     "value": null},
    {"key": "lemur.windows", "type": "array", "of": "i32", "count": 2, "bytes": null,
     "value": [-1, 512]},
    {"key": "tokenizer.ggml.tokens", "type": "array", "of": "string", "count": 2, "bytes": null,
     "value": null},
    {"key": "tokenizer.ggml.model", "type": "string", "of": null, "count": null, "bytes": 4,
     "value": "none"}])");
  EXPECT_EQ(document["metadata"], want);
}

TEST(Describe, UnknownArchitecturesAsFarAsTheHeaderGoes) {
  std::string bytes = ReadFile(TinyPath("llama-dense.gguf"));
  bytes.replace(bytes.find("llama", bytes.find("general.architecture")), 5, "lemur");
  const json document = Describe(WriteTemp("lemur.gguf", bytes));
  EXPECT_EQ(document["supported"], false);
  EXPECT_NE(document["unsupported_reason"].get<std::string>().find("lemur"), std::string::npos);
  EXPECT_TRUE(document["hyper_parameters"].is_null());
  EXPECT_FALSE(document["tensors"].empty());
  EXPECT_TRUE(document["tensors"][0]["used"].is_null());
}

TEST(Describe, VocabulariesAlone) {
  const auto vocabulary = VocabPath("qwen2.gguf");
  if (!vocabulary) VT_NOT_RUN("qwen2.gguf");
  const Outcome outcome = RunVt({"-m", *vocabulary, "--describe"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(SchemaErrors(document, "vt.model.schema.json"), "");
  EXPECT_EQ(document["tokenizer"]["pre"], "qwen2");
  EXPECT_EQ(document["tokenizer"]["vocab_size"], 151936);
}

TEST(Describe, RealModels) {
  const auto model = ModelPath("gemma-3-270m-q4_k_m.gguf");
  if (!model) VT_NOT_RUN("gemma-3-270m-q4_k_m.gguf");
  const json document = Describe(*model);
  const json& layers = document["hyper_parameters"]["layers"];
  // Gemma 3 sees 512 positions in five layers of six, all of them in the sixth.
  const json& window = layers["window"];
  ASSERT_EQ(window.size(), 18u);
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (i % 6 == 5) {
      EXPECT_TRUE(window[i].is_null()) << i;
    } else {
      EXPECT_EQ(window[i], 512) << i;
    }
  }
  EXPECT_EQ(document["tokenizer"]["bos"]["text"], "<bos>");
  EXPECT_FALSE(document["tokenizer"]["end_tokens"].empty());
}

}  // namespace
}  // namespace vt::test
