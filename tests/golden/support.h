// A golden small enough to read, and what tests do with one.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "golden/check.h"
#include "golden/golden.h"
#include "support/model_run.h"
#include "support/test_files.h"

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

// A tiny model of the tests and the golden that somebody else made of it.
struct TinyModel {
  LoadedModel model;
  Golden golden;
};
inline TinyModel LoadTiny(const std::string& name, EngineOptions options = {}) {
  TinyModel tiny;
  tiny.golden = MustParse(ReadFile(TinyPath(name + ".json")));
  options.context = name == "phi3-dense" ? 512 : 256;
  options.threads = 2;
  tiny.model = LoadModel(TinyPath(name + ".gguf"), EngineOptionsFor(tiny.golden, options));
  return tiny;
}

}  // namespace vt::test
