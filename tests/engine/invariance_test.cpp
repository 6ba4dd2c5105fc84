// Logits of a sequence are bit-identical whatever the threads, the prompt chunks, the company in
// the batch, and whether a prefix was computed or reused.
#include <gtest/gtest.h>

#include <cstring>

#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

// Deterministic ids below `vocab`.
std::vector<TokenId> Prompt(std::size_t length, std::uint32_t seed, std::int64_t vocab) {
  std::vector<TokenId> ids(length);
  for (TokenId& id : ids) {
    seed = seed * 1664525u + 1013904223u;
    id = static_cast<TokenId>((seed >> 8) % static_cast<std::uint32_t>(vocab));
  }
  return ids;
}

void ExpectSame(const test::LogitTable& got, const test::LogitTable& want,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].size() * sizeof(float)), 0)
        << what << ": logits differ after position " << i;
  }
}

struct Case {
  std::string path;
  std::size_t length;
  DType kv_type;
};

EngineOptions Options(const Case& c, int threads) {
  EngineOptions options;
  options.context = 256;
  options.ubatch = 512;
  options.logit_rows = 8;
  options.kv_type = c.kv_type;
  options.threads = threads;
  return options;
}

// The rows of one sequence fed beside `others` sequences of different prompts, token by token.
test::LogitTable BatchedLogits(Engine& engine, const std::vector<TokenId>& prompt, int others,
                               std::size_t chunk) {
  test::LogitTable rows;
  std::vector<std::vector<TokenId>> prompts{prompt};
  for (int i = 0; i < others; ++i) {
    prompts.push_back(Prompt(prompt.size() - static_cast<std::size_t>(3 * i),
                             77u + static_cast<std::uint32_t>(i), engine.spec().vocab));
  }
  std::vector<SequenceId> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) sequences.push_back(*engine.Open({}, nullptr));
  for (std::size_t begin = 0; begin < prompt.size(); begin += chunk) {
    std::vector<StepTokens> entries;
    for (std::size_t i = prompts.size(); i-- > 0;) {  // ours comes last in the batch
      if (begin >= prompts[i].size()) continue;
      StepTokens entry;
      entry.sequence = sequences[i];
      entry.tokens =
          std::span(prompts[i]).subspan(begin, std::min(chunk, prompts[i].size() - begin));
      entry.all_logits = true;
      entries.push_back(entry);
    }
    const std::size_t ours = entries.size() - 1;
    const Status status =
        engine.Step(entries, [&](std::size_t e, std::size_t, std::span<const float> logits) {
          if (e == ours) rows.emplace_back(logits.begin(), logits.end());
          return Status();
        });
    EXPECT_TRUE(status.ok()) << status.message();
  }
  for (const SequenceId sequence : sequences) engine.Close(sequence);
  return rows;
}

void CheckInvariance(const Case& c) {
  test::LoadedModel one = test::LoadModel(c.path, Options(c, 1));
  ASSERT_TRUE(one.engine);
  const std::vector<TokenId> prompt = Prompt(c.length, 1, one.engine->spec().vocab);
  const test::LogitTable want = test::PromptLogits(*one.engine, prompt, prompt.size());

  for (const int threads : {1, 2, 4}) {
    test::LoadedModel model = test::LoadModel(c.path, Options(c, threads));
    ASSERT_TRUE(model.engine);
    for (const std::size_t chunk :
         {std::size_t{1}, std::size_t{7}, std::size_t{32}, prompt.size()}) {
      ExpectSame(test::PromptLogits(*model.engine, prompt, chunk), want,
                 std::to_string(threads) + " threads, chunks of " + std::to_string(chunk));
    }
  }
  EngineOptions batch = Options(c, 2);
  batch.sequences = 8;
  test::LoadedModel eight = test::LoadModel(c.path, batch);
  ASSERT_TRUE(eight.engine);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{32}}) {
    ExpectSame(BatchedLogits(*eight.engine, prompt, 7, chunk), want,
               "batch of 8, chunks of " + std::to_string(chunk));
  }
}

// A second sequence with the same prompt takes the first one's pages, and gives the same logits.
void CheckPrefixReuse(const Case& c) {
  test::LoadedModel model = test::LoadModel(c.path, Options(c, 2));
  ASSERT_TRUE(model.engine);
  Engine& engine = *model.engine;
  const std::vector<TokenId> prompt = Prompt(c.length, 5, engine.spec().vocab);
  const test::LogitTable want = test::PromptLogits(engine, prompt, prompt.size());
  std::size_t reused = 0;
  const Result<SequenceId> sequence = engine.Open(prompt, &reused);
  ASSERT_TRUE(sequence.ok());
  ASSERT_EQ(reused, (c.length - 1) / 64 * 64);
  StepTokens entry;
  entry.sequence = *sequence;
  entry.tokens = std::span(prompt).subspan(reused);
  entry.all_logits = true;
  std::size_t at = reused;
  const Status status =
      engine.Step({&entry, 1}, [&](std::size_t, std::size_t, std::span<const float> logits) {
        EXPECT_EQ(std::memcmp(logits.data(), want[at].data(), logits.size_bytes()), 0)
            << "position " << at;
        ++at;
        return Status();
      });
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(at, prompt.size());
}

TEST(Invariance, PlainModel) {
  CheckInvariance({test::TinyPath("llama-dense.gguf"), 150, DType::kF16});
}
TEST(Invariance, WindowedModel) {
  CheckInvariance({test::TinyPath("gemma3-dense.gguf"), 150, DType::kF16});
}
TEST(Invariance, ParallelWindowedModel) {
  CheckInvariance({test::TinyPath("cohere2-dense.gguf"), 90, DType::kBF16});
}
TEST(Invariance, StateSpaceModel) {
  CheckInvariance({test::TinyPath("mamba2-dense.gguf"), 90, DType::kF16});
}
TEST(Invariance, DeltaNetModel) {
  CheckInvariance({test::TinyPath("qwen3next-moe.gguf"), 90, DType::kF16});
}
TEST(Invariance, ShortConvolutionModel) {
  CheckInvariance({test::TinyPath("lfm2-dense.gguf"), 90, DType::kF16});
}
TEST(Invariance, QuantisedModel) {
  const auto path = test::ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!path) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  CheckInvariance({*path, 70, DType::kQ8_0});
}
TEST(Invariance, QuantisedWindowedModel) {
  const auto path = test::ModelPath("gemma-3-270m-q4_k_m.gguf");
  if (!path) VT_NOT_RUN("gemma-3-270m-q4_k_m.gguf");
  CheckInvariance({*path, 40, DType::kF16});
}

TEST(PrefixReuse, PlainModel) {
  CheckPrefixReuse({test::TinyPath("llama-dense.gguf"), 200, DType::kF16});
}
TEST(PrefixReuse, WindowedModel) {
  CheckPrefixReuse({test::TinyPath("gemma2-dense.gguf"), 200, DType::kF32});
}
TEST(PrefixReuse, QuantisedModel) {
  const auto path = test::ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!path) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  CheckPrefixReuse({*path, 100, DType::kF16});
}

}  // namespace
}  // namespace vt
