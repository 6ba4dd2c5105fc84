// Runs a model file over token ids and collects logits: what engine and golden tests share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "vt/engine.h"
#include "vt/generate.h"

namespace vt::test {

// A model with its engine. Failures to load are test failures and give null.
struct LoadedModel {
  std::unique_ptr<GgufFile> file;
  std::unique_ptr<Engine> engine;
};
LoadedModel LoadModel(const std::string& path, const EngineOptions& options);

using LogitTable = std::vector<std::vector<float>>;

// Logits after every prompt token, fed in steps of at most `chunk` tokens.
LogitTable PromptLogits(Engine& engine, const std::vector<TokenId>& prompt, std::size_t chunk);

// Greedy tokens, with the logits that chose each.
struct Greedy {
  std::vector<TokenId> tokens;
  LogitTable logits;
};
Greedy RunGreedy(Engine& engine, const std::vector<TokenId>& prompt, std::size_t count);

// sum (a - b)^2 / sum b^2
double Nmse(const std::vector<float>& got, const std::vector<float>& want);

}  // namespace vt::test
