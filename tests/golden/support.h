// A golden small enough to read, and what tests do with one.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "golden/check.h"
#include "golden/checkpoint.h"
#include "golden/golden.h"
#include "golden/record.h"
#include "support/model_run.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt::test {

// Two cases over a vocabulary of 8.
inline std::string SmallGolden() {
  return R"({"schema":"vt.golden/1","model":{"file":"m.gguf","vocab":8},
 "oracle":{"name":"someone","version":"1","settings":"s"},
 "cases":[
  {"name":"one","prompt_text":"hi","prompt_tokens":[1,2],"generated_tokens":[3,4,5],
   "margins":[0.5,0.001,2],
   "logits":{"form":"top","rows":[{"lse":2.5,"top":[[2,2],[1,1]]},{"lse":3.2,"top":[[3,3],[4,1]]}]},
   "generated_logits":{"form":"top","rows":[{"lse":2.9,"top":[[4,2],[7,1.999]]},{"lse":3,"top":[[5,2.5],[1,0.5]]}]}},
  {"name":"two","prompt_tokens":[6],"generated_tokens":[],"margins":[],
   "logits":{"form":"dense","rows":[[0,1,2,3,4,5,6,7]]}}]})";
}

inline Golden MustParse(const std::string& text) {
  const Result<Golden> golden = ParseGolden(text);
  EXPECT_TRUE(golden.ok()) << golden.status().message();
  return golden.ok() ? *golden : Golden();
}

inline std::string Written(const Golden& golden) {
  JsonWriter json;
  json.BeginObject().Field("schema", kGoldenSchema);
  WriteGoldenBody(golden, json);
  return json.EndObject().Take();
}

// The cache of who made the tiny goldens.
inline EngineOptions LikeTheOracle() {
  EngineOptions options;
  options.kv_type = DType::kF32;
  return options;
}

// A tiny model of the tests and the golden that somebody else made of it.
struct TinyModel {
  LoadedModel model;
  Golden golden;
};
// `folder`: of the same weights, instead of the GGUF file.
inline TinyModel LoadTiny(const std::string& name, EngineOptions options = LikeTheOracle(),
                          const std::string& folder = "") {
  TinyModel tiny;
  tiny.golden = MustParse(ReadFile(TinyPath(name + ".json")));
  options.context = TinyContext(name);
  options.threads = 2;
  tiny.model = LoadModel(TinyPath(folder.empty() ? name + ".gguf" : folder),
                         EngineOptionsFor(tiny.golden, options));
  return tiny;
}

// A copy of a tiny model whose f32 tensor went through `edit`; gives its path.
inline std::string EditedModel(const std::string& name, const std::string& tensor,
                               const std::function<void(std::span<float>)>& edit) {
  const Result<GgufFile> file = GgufFile::Open(TinyPath(name + ".gguf"));
  EXPECT_TRUE(file.ok()) << file.status().message();
  const GgufTensor* found = file.ok() ? file->FindTensor(tensor) : nullptr;
  EXPECT_TRUE(found && found->type == DType::kF32) << tensor;
  if (!found) return {};
  std::vector<float> values(found->bytes / sizeof(float));
  file->CopyTo(*found, reinterpret_cast<std::byte*>(values.data()));
  edit(values);
  std::string bytes = ReadFile(TinyPath(name + ".gguf"));
  std::memcpy(bytes.data() + found->offset, values.data(), found->bytes);
  const std::string path = TempDir() + "/" + name + ".gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// What vt answers to the prompts of a tiny golden, with checkpoints of these layers (empty: all).
inline Golden RecordedWithCheckpoints(const std::string& name, std::vector<int> layers,
                                      EngineOptions options = LikeTheOracle()) {
  // The width of a recorder is the model's.
  const Result<GgufFile> file = GgufFile::Open(TinyPath(name + ".gguf"));
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  CheckpointRecorder recorder(std::move(layers), spec->width);
  options.on_op = recorder.Hook();
  const TinyModel tiny = LoadTiny(name, options);
  std::vector<RecordPrompt> prompts;
  for (const GoldenCase& one : tiny.golden.cases) {
    prompts.push_back({one.name, std::nullopt, one.prompt, one.generated.size()});
  }
  RecordOptions record;
  record.checkpoints = &recorder;
  const auto cases = RecordCases(*tiny.model.engine, prompts, record, {});
  EXPECT_TRUE(cases.ok()) << cases.status().message();
  Golden golden;
  golden.model = tiny.golden.model;
  if (cases.ok()) golden.cases = *cases;
  return MustParse(Written(golden));
}

// The reports of a model against a golden, whatever the digests say.
inline std::vector<CaseReport> CheckPath(const std::string& path, const Golden& golden,
                                         EngineOptions options = LikeTheOracle()) {
  const Result<GgufFile> file = GgufFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  const std::unique_ptr<CheckpointRecorder> recorder = RecorderFor(golden, *spec);
  if (recorder) options.on_op = recorder->Hook();
  options.context = 256;
  options.threads = 2;
  const LoadedModel model = LoadModel(path, EngineOptionsFor(golden, options));
  CheckWatch watch;
  watch.checkpoints = recorder.get();
  const auto cases = CheckCases(golden, *model.engine, nullptr, CheckLimits(), watch);
  EXPECT_TRUE(cases.ok()) << cases.status().message();
  return cases.ok() ? *cases : std::vector<CaseReport>();
}

}  // namespace vt::test
