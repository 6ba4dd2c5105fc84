#include "support/model_run.h"

#include <algorithm>

namespace vt::test {

LoadedModel LoadModel(const std::string& path, const EngineOptions& options) {
  LoadedModel model;
  Result<GgufFile> file = GgufFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (!file.ok()) return {};
  model.file = std::make_unique<GgufFile>(std::move(*file));
  const Result<ModelSpec> spec = ReadModelSpec(*model.file);
  EXPECT_TRUE(spec.ok()) << path << ": " << spec.status().message();
  if (!spec.ok()) return {};
  Result<std::unique_ptr<Engine>> engine = Engine::Load(*model.file, *spec, options);
  EXPECT_TRUE(engine.ok()) << path << ": " << engine.status().message();
  if (!engine.ok()) return {};
  model.engine = std::move(*engine);
  return model;
}

LogitTable PromptLogits(Engine& engine, const std::vector<TokenId>& prompt, std::size_t chunk) {
  LogitTable rows;
  const Result<SequenceId> sequence = engine.Open({}, nullptr);
  EXPECT_TRUE(sequence.ok()) << sequence.status().message();
  for (std::size_t begin = 0; begin < prompt.size(); begin += chunk) {
    const std::size_t count = std::min(chunk, prompt.size() - begin);
    StepTokens entry;
    entry.sequence = *sequence;
    entry.tokens = std::span(prompt).subspan(begin, count);
    entry.all_logits = true;
    const Status status =
        engine.Step({&entry, 1}, [&](std::size_t, std::size_t, std::span<const float> logits) {
          rows.emplace_back(logits.begin(), logits.end());
          return Status();
        });
    EXPECT_TRUE(status.ok()) << status.message();
  }
  engine.Close(*sequence);
  return rows;
}

Greedy RunGreedy(Engine& engine, const std::vector<TokenId>& prompt, std::size_t count) {
  Greedy out;
  const Result<SequenceId> sequence = engine.Open({}, nullptr);
  EXPECT_TRUE(sequence.ok()) << sequence.status().message();
  std::vector<TokenId> next = prompt;
  while (out.tokens.size() < count) {
    StepTokens entry;
    entry.sequence = *sequence;
    entry.tokens = next;
    const Status status =
        engine.Step({&entry, 1}, [&](std::size_t, std::size_t, std::span<const float> logits) {
          out.logits.emplace_back(logits.begin(), logits.end());
          return Status();
        });
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) break;
    const std::vector<float>& row = out.logits.back();
    out.tokens.push_back(
        static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin()));
    next = {out.tokens.back()};
  }
  engine.Close(*sequence);
  return out;
}

double Nmse(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double d = static_cast<double>(got[i]) - static_cast<double>(want[i]);
    error += d * d;
    power += static_cast<double>(want[i]) * static_cast<double>(want[i]);
  }
  return error / power;
}

}  // namespace vt::test
