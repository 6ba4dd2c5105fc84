// The header models are the models they are named after: what was published of the real files.
#include "support/header_models.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "support/test_files.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

ModelSpec Spec(const GgufFile& file) {
  Result<ModelSpec> spec = ReadModelSpec(file);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? std::move(*spec) : ModelSpec();
}

std::map<DType, int> CountTypes(const GgufFile& file, std::string_view part = "") {
  std::map<DType, int> counts;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name.find(part) != std::string_view::npos) ++counts[tensor.type];
  }
  return counts;
}

double GiB(std::uint64_t bytes) { return static_cast<double>(bytes) / (1u << 30); }

TEST(HeaderModels, AllAreKnownToTheReaderOfSpecsButOne) {
  for (const std::string_view name : test::HeaderModelNames()) {
    SCOPED_TRACE(name);
    const GgufFile file = test::HeaderModel(name);
    const Result<ModelSpec> spec = ReadModelSpec(file);
    if (name == "unknown-arch") {
      EXPECT_EQ(spec.status().code(), Code::kUnsupported);
      continue;
    }
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_GT(spec->vocab, 0);
  }
}

// What llama.cpp's loader prints of the files ("file size", "loaded meta data with .. tensors").
TEST(HeaderModels, HaveThePublishedNumberOfTensorsAndSize) {
  const struct {
    const char* name;
    std::size_t tensors;
    double gib;  // of all tensors, to two places; 0: not known for this mix of types
  } kPublished[] = {
      {"llama-8b", 292, 4.58},      {"llama-70b", 724, 39.59}, {"gpt-oss-20b", 459, 11.27},
      {"gpt-oss-120b", 687, 59.02}, {"deepseek-v3", 1086, 0},  {"deepseek-v3-expanded", 1025, 0},
      {"gemma-4-26b", 658, 0},      {"qwen3-30b-a3b", 579, 0}, {"qwen3.6-27b", 851, 0},
      {"smollm-135m", 272, 0},      {"lfm2-350m", 148, 0},     {"glm-5.3", 1809, 0},
  };
  for (const auto& [name, tensors, gib] : kPublished) {
    SCOPED_TRACE(name);
    const test::ModelHeader header = test::HeaderOf(name);
    EXPECT_EQ(header.tensors().size(), tensors);
    if (gib > 0) {
      EXPECT_NEAR(GiB(header.tensor_bytes()), gib, 0.005);
    }
  }
  using Counts = std::map<DType, int>;
  EXPECT_EQ(CountTypes(test::HeaderModel("gpt-oss-120b")),
            (Counts{{DType::kF32, 433}, {DType::kQ8_0, 146}, {DType::kMXFP4, 108}}));
}

TEST(HeaderModels, Glm53Has228TowersOfSixTypes) {
  const GgufFile file = test::HeaderModel("glm-5.3");
  const std::map<DType, int> towers = CountTypes(file, "_exps.weight");
  EXPECT_EQ(towers.size(), 6u);
  int count = 0;
  for (const auto& [type, number] : towers) count += number;
  EXPECT_EQ(count, 228);
  EXPECT_GT(towers.at(DType::kIQ1_S), count / 2);
  const ModelSpec spec = Spec(file);
  ASSERT_EQ(spec.layers.size(), 78u);
  int late = 0;
  for (std::size_t i = 56; i < spec.layers.size(); ++i) {
    const MoeSpec& moe = spec.layers[i].moe;
    for (const ExpertRef* tower : {&moe.gate, &moe.up, &moe.down}) {
      late += file.tensors()[static_cast<std::size_t>(tower->weight.tensor)].type == DType::kIQ1_S;
    }
  }
  EXPECT_EQ(late, 22);
}

// config.json of GLM-5.2: indexer_types is full for layers 0, 1, 2, 6, 10, .., 74.
TEST(HeaderModels, Glm52OwnsIndexersInTheLayersOfItsConfigurationHoweverTheFileSaysSo) {
  std::set<int> want = {0, 1};
  for (int layer = 2; layer <= 74; layer += 4) want.insert(layer);
  ASSERT_EQ(want.size(), 21u);
  for (const char* name : {"glm-5.2", "glm-5.3"}) {
    SCOPED_TRACE(name);
    const GgufFile file = test::HeaderModel(name);
    const ModelSpec spec = Spec(file);
    std::set<int> own;
    for (std::size_t i = 0; i < spec.layers.size(); ++i) {
      if (spec.layers[i].latent.indexer.k) own.insert(static_cast<int>(i));
    }
    EXPECT_EQ(own, want);
    // Tensors of the others are in the file.
    EXPECT_NE(file.FindTensor("blk.77.indexer.attn_k.weight"), nullptr);
  }
  const ModelSpec all = Spec(test::HeaderModel("glm-5"));
  EXPECT_TRUE(std::all_of(all.layers.begin(), all.layers.end(), [](const LayerSpec& layer) {
    return static_cast<bool>(layer.latent.indexer.k);
  }));
}

TEST(HeaderModels, WeightsReadAsZeros) {
  const GgufFile file = test::HeaderModel("gpt-oss-120b");
  const GgufTensor& last = file.tensors().back();
  std::vector<std::byte> bytes(64, std::byte{1});
  file.CopyRange(last, last.bytes - bytes.size(), bytes.size(), bytes.data());
  EXPECT_TRUE(
      std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(HeaderModels, ASparseFileIsTheModelAndTakesNoRoom) {
  test::ModelHeader header = test::HeaderOf("glm-5.3");
  header.AddTokenizer();
  const std::string path = test::TempDir() + "/glm-5.3.gguf";
  header.WriteSparse(path);
  const Result<GgufFile> file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->total_bytes(), header.file_bytes());
  EXPECT_EQ(file->HeaderDigest(), header.Open().HeaderDigest());
  EXPECT_EQ(Spec(*file).vocab, 154880);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 16 << 20);
}

TEST(HeaderModels, AKeyThatIsSetAgainTakesTheNewValue) {
  test::ModelHeader header = test::EqualLayersHeader("small", {.layers = 3, .experts = 0});
  const std::size_t keys = header.keys().size();
  header.Count("context_length", 77);
  EXPECT_EQ(header.keys().size(), keys);
  const GgufFile file = header.Open();
  EXPECT_EQ(Spec(file).context_train, 77u);
  header.Remove("context_length");
  const Result<ModelSpec> spec = ReadModelSpec(header.Open());
  ASSERT_FALSE(spec.ok());
  EXPECT_NE(spec.status().message().find("llama.context_length"), std::string::npos);
}

}  // namespace
}  // namespace vt
