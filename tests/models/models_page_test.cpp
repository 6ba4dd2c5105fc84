// docs/models.md says what the specs of the models in the tests say. VT_WRITE_DOCS=1 writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "support/test_files.h"
#include "support/tiny_models.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

// Known, but nobody's logits are at hand.
constexpr const char* kNoGolden[] = {"nemotron_h_moe"};

struct Row {
  std::set<std::string> mixers, experts, features;
  std::vector<std::string> goldens;
  bool folder = false;
};

std::string_view NameOf(MixerKind kind) {
  switch (kind) {
    case MixerKind::kNone:
      return "none";
    case MixerKind::kAttention:
      return "attention";
    case MixerKind::kLatent:
      return "latent attention";
    case MixerKind::kMamba2:
      return "Mamba 2";
    case MixerKind::kDeltaNet:
      return "gated delta rule";
    case MixerKind::kShortConv:
      return "short convolution";
  }
  return "?";
}

void AddLayer(const LayerSpec& layer, Row& row) {
  const auto feature = [&](bool has, const char* text) {
    if (has) row.features.insert(text);
  };
  if (layer.has_mixer()) row.mixers.insert(std::string(NameOf(layer.mixer)));
  feature(layer.window > 0 && !layer.chunked, "sliding window");
  feature(layer.chunked, "chunked attention");
  feature(layer.kv_source >= 0, "shared keys");
  feature(static_cast<bool>(layer.sinks), "attention sinks");
  feature(layer.gated_q || static_cast<bool>(layer.attn_gate), "gated attention");
  feature(layer.attention_softcap != 0, "attention soft cap");
  feature(layer.unit_qk_norm || static_cast<bool>(layer.q_norm), "query and key norms");
  feature(layer.latent.indexer.heads > 0, "indexer");
  feature(static_cast<bool>(layer.ple_gate), "embedding per layer");
  feature(layer.parallel_residual, "parallel branches");
  feature(layer.mixer == MixerKind::kAttention && layer.rope < 0, "layers without rotation");
  const MoeSpec& moe = layer.moe;
  if (moe.experts == 0) return;
  row.experts.insert(moe.gating == RouterGating::kSigmoid ? "sigmoid" : "softmax");
  if (moe.selection_bias) row.experts.insert("selection bias");
  if (moe.shared_width > 0) row.experts.insert("shared expert");
  if (layer.up) row.experts.insert("dense branch beside");
}

std::string Joined(const std::set<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// Empty where a file is missing.
std::string Page() {
  std::map<std::string, Row> rows;
  for (const char* name : test::kTinyModels) {
    const Result<GgufFile> file = GgufFile::Open(test::TinyPath(std::string(name) + ".gguf"));
    if (!file.ok()) return "";
    const Result<ModelSpec> spec = ReadModelSpec(*file);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    if (!spec.ok()) return "";
    Row& row = rows[spec->architecture];
    row.goldens.emplace_back(name);
    for (const LayerSpec& layer : spec->layers) AddLayer(layer, row);
    for (const RopeSpec& rope : spec->ropes) {
      if (rope.scaling == RopeSpec::Scaling::kYarn) row.features.insert("YaRN");
      if (rope.factors_long) row.features.insert("LongRoPE");
    }
  }
  for (const char* name : kNoGolden) {
    rows[name].features.insert("as its relatives");
    rows[name].goldens.emplace_back("not verified: no golden");
  }
  for (const char* folder : {"deepseek2", "deepseek32", "gemma4", "glm-dsa", "llama", "mistral3",
                             "qwen2", "qwen3", "qwen3moe"}) {
    if (rows.contains(folder)) rows[folder].folder = true;
  }
  std::ostringstream page;
  page << "# Models\n\n"
          "Every architecture that vt runs, with the features that its test models use. Each test "
          "model "
          "is a\nsmall one with random weights; \"verified\" names those whose logits agree with "
          "llama.cpp "
          "b11434 to an\nNMSE of 1e-6 at every prompt position, in one batch, in chunks of 7 and "
          "token by "
          "token.\n\nAll are read from GGUF; \"folder\" means from Hugging Face folders "
          "(safetensors) as "
          "well.\n\n"
          "| architecture | mixes positions by | experts | features | files | verified |\n"
          "|---|---|---|---|---|---|\n";
  for (const auto& [architecture, row] : rows) {
    page << "| " << architecture << " | " << Joined(row.mixers) << " | " << Joined(row.experts)
         << " | " << Joined(row.features) << " | GGUF" << (row.folder ? ", folder" : "") << " | ";
    for (std::size_t i = 0; i < row.goldens.size(); ++i) {
      page << (i > 0 ? ", " : "") << row.goldens[i];
    }
    page << " |\n";
  }
  page << "\nA new one: [howto/new-model.md](howto/new-model.md).\n";
  return page.str();
}

TEST(ModelsPage, SaysWhatTheSpecsSay) {
  const std::string page = Page();
  if (page.empty()) VT_NOT_RUN("the tiny models");
  const std::string path = test::DataPath("../../docs/models.md");
  if (std::getenv("VT_WRITE_DOCS")) std::ofstream(path) << page;
  std::ifstream file(path);
  std::stringstream written;
  written << file.rdbuf();
  EXPECT_EQ(written.str(), page) << "run models_tests with VT_WRITE_DOCS=1";
}

TEST(ModelsPage, EveryKnownArchitectureHasAGolden) {
  std::set<std::string> seen(std::begin(kNoGolden), std::end(kNoGolden));
  for (const char* name : test::kTinyModels) {
    const Result<GgufFile> file = GgufFile::Open(test::TinyPath(std::string(name) + ".gguf"));
    if (!file.ok()) VT_NOT_RUN("the tiny models");
    const auto architecture = file->GetString("general.architecture");
    ASSERT_TRUE(architecture.ok() && *architecture);
    seen.insert(std::string(**architecture));
  }
  for (const std::string_view known : KnownArchitectures()) {
    EXPECT_TRUE(seen.contains(std::string(known))) << known;
  }
}

TEST(ModelsPage, TheListNamesEveryTinyModel) {
  std::set<std::string> there;
  const std::filesystem::path more = test::DataPath("tiny-more");
  const std::filesystem::path archived =
      std::filesystem::path(test::TinyPath("llama-dense.gguf")).parent_path();
  for (const std::filesystem::path& folder : {archived, more}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".gguf") there.insert(entry.path());
    }
    EXPECT_EQ(there.size(),
              folder == archived ? test::kTinyArchived : std::size(test::kTinyModels));
  }
  const std::vector<std::string> listed = test::TinyModelPaths();
  EXPECT_EQ(there, std::set<std::string>(listed.begin(), listed.end()));
}

}  // namespace
}  // namespace vt
