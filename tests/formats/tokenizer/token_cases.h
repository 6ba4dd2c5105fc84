// The tests/data/tokenizers files: strings and the ids that another tokenizer gives them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/test_files.h"
#include "vt/tokenizer.h"

namespace vt::test {

struct TokenCase {
  std::string text;
  std::vector<TokenId> ids;  // special tokens parsed, none added
};

// One vocabulary and its cases.
struct CaseFile {
  std::string name;   // of the file, without .json
  std::string model;  // file name of the vocabulary or model
  std::vector<TokenCase> cases;

  std::optional<std::string> Path() const {
    if (model == "smollm2-135m-instruct-q4_1.gguf") {
      return ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
    }
    return model.find("-q4_") != std::string::npos ? ModelPath(model) : VocabPath(model);
  }
};

inline CaseFile ReadCases(const std::string& name) {
  const auto json = nlohmann::json::parse(ReadFile(DataPath("tokenizers/" + name + ".json")));
  CaseFile file{.name = name, .model = json.at("model"), .cases = {}};
  for (const auto& entry : json.at("cases")) {
    file.cases.push_back({entry.at("text"), entry.at("ids").get<std::vector<TokenId>>()});
  }
  return file;
}

// Every file of the folder, by name.
inline std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(DataPath("tokenizers"))) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline Result<Tokenizer> LoadTokenizer(const std::string& path) {
  auto file = GgufFile::Open(path);
  if (!file.ok()) return file.status();
  return Tokenizer::Load(*file);
}

}  // namespace vt::test
