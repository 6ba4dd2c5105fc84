#include "vt/generate.h"

#include <gtest/gtest.h>

#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

EngineOptions Options(std::int64_t sequences, std::int64_t ubatch = 512) {
  EngineOptions options;
  options.context = 200;
  options.sequences = sequences;
  options.ubatch = ubatch;
  options.threads = 2;
  return options;
}

std::vector<GenerationRequest> Requests(std::size_t count) {
  std::vector<GenerationRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t t = 0; t < 5 + 11 * i; ++t) {
      requests[i].prompt.push_back(static_cast<TokenId>((t * 7 + i * 31 + 3) % 128));
    }
    requests[i].max_tokens = static_cast<std::int64_t>(20 - i);
    requests[i].sampler.seed = i;
  }
  return requests;
}

TEST(Generate, ABatchGivesEachRequestItsOwnAnswer) {
  const std::vector<GenerationRequest> requests = Requests(7);
  std::vector<std::vector<TokenId>> alone;
  {
    test::LoadedModel model = test::LoadModel(test::TinyPath("qwen3-dense.gguf"), Options(1));
    ASSERT_TRUE(model.engine);
    for (const GenerationRequest& request : requests) {
      const auto results = Generate(*model.engine, nullptr, {&request, 1}, {});
      ASSERT_TRUE(results.ok()) << results.status().message();
      alone.push_back(results->front().tokens);
      EXPECT_EQ(alone.back().size(), static_cast<std::size_t>(request.max_tokens));
      EXPECT_EQ(results->front().stop, StopReason::kMaxTokens);
    }
  }
  for (const std::int64_t sequences : {2, 8}) {
    for (const std::int64_t ubatch : {8, 512}) {
      test::LoadedModel model =
          test::LoadModel(test::TinyPath("qwen3-dense.gguf"), Options(sequences, ubatch));
      ASSERT_TRUE(model.engine);
      const auto results = Generate(*model.engine, nullptr, requests, {});
      ASSERT_TRUE(results.ok()) << results.status().message();
      for (std::size_t i = 0; i < requests.size(); ++i)
        EXPECT_EQ((*results)[i].tokens, alone[i]) << i;
    }
  }
}

TEST(Generate, PromptsThatBeginAlikeShareTheirPages) {
  std::vector<GenerationRequest> requests = Requests(4);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].prompt.clear();
    for (TokenId t = 0; t < 140; ++t) requests[i].prompt.push_back(t * 5 % 128);
    requests[i].prompt.push_back(static_cast<TokenId>(i));
  }
  EngineOptions options = Options(4, 32);
  options.prefix_reuse = false;
  test::LoadedModel without = test::LoadModel(test::TinyPath("qwen3-dense.gguf"), options);
  options.prefix_reuse = true;
  test::LoadedModel with = test::LoadModel(test::TinyPath("qwen3-dense.gguf"), options);
  ASSERT_TRUE(without.engine && with.engine);
  const auto want = Generate(*without.engine, nullptr, requests, {});
  const auto got = Generate(*with.engine, nullptr, requests, {});
  ASSERT_TRUE(want.ok() && got.ok());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ((*want)[i].reused_tokens, 0u);
    EXPECT_EQ((*got)[i].reused_tokens, i == 0 ? 0u : 128u) << i;
    EXPECT_EQ((*got)[i].tokens, (*want)[i].tokens) << i;
  }
}

TEST(Generate, EndsAtTheContextAndAtEndTokens) {
  test::LoadedModel model = test::LoadModel(test::TinyPath("qwen3-dense.gguf"), Options(1));
  ASSERT_TRUE(model.engine);
  GenerationRequest request = Requests(1)[0];
  request.max_tokens = -1;
  auto results = Generate(*model.engine, nullptr, {&request, 1}, {});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->front().stop, StopReason::kContextFull);
  EXPECT_EQ(results->front().tokens.size(), 200u - 5 + 1);
  const TokenId third = results->front().tokens[2];
  request.end_tokens = {third};
  results = Generate(*model.engine, nullptr, {&request, 1}, {});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->front().stop, StopReason::kEndToken);
  EXPECT_EQ(results->front().tokens.back(), third);
  EXPECT_LE(results->front().tokens.size(), 3u);
}

TEST(Generate, PromptLogitsComeForEveryPosition) {
  test::LoadedModel model = test::LoadModel(test::TinyPath("qwen3-dense.gguf"), Options(2, 16));
  ASSERT_TRUE(model.engine);
  std::vector<GenerationRequest> requests = Requests(2);
  for (GenerationRequest& request : requests) request.prompt_logits = true;
  requests[1].max_tokens = 0;
  std::vector<std::size_t> next(2, 0);
  std::vector<int> ends(2, 0);
  GenerationHooks hooks;
  hooks.on_prompt_logits = [&](std::size_t r, std::size_t position, std::span<const float> logits) {
    EXPECT_EQ(position, next[r]++);
    EXPECT_EQ(logits.size(), 128u);
    return Status();
  };
  hooks.on_end = [&](std::size_t r, const GenerationResult&) {
    ++ends[r];
    return Status();
  };
  const auto results = Generate(*model.engine, nullptr, requests, hooks);
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(next, (std::vector<std::size_t>{5, 16}));
  EXPECT_EQ(ends, (std::vector<int>{1, 1}));
  EXPECT_TRUE((*results)[1].tokens.empty());
}

TEST(Generate, StopTextsAreCutAndNotShown) {
  const auto path = test::ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!path) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  test::LoadedModel model = test::LoadModel(*path, Options(1));
  ASSERT_TRUE(model.engine);
  const Result<Tokenizer> tokenizer = Tokenizer::Load(*model.file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  GenerationRequest request;
  request.prompt = tokenizer->Encode("1, 2, 3, 4, 5,");
  request.max_tokens = 40;
  request.sampler.temperature = 0;
  auto whole = Generate(*model.engine, &*tokenizer, {&request, 1}, {});
  ASSERT_TRUE(whole.ok());
  ASSERT_NE(whole->front().text.find(" 8, 9"), std::string::npos) << whole->front().text;
  request.stop = {"8, 9", "nothing like this"};
  std::string streamed;
  GenerationHooks hooks;
  hooks.on_token = [&](std::size_t, const GeneratedToken& token) {
    streamed += token.text;
    return Status();
  };
  const auto cut = Generate(*model.engine, &*tokenizer, {&request, 1}, hooks);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->front().stop, StopReason::kStopText);
  EXPECT_EQ(cut->front().stop_detail, "8, 9");
  EXPECT_EQ(cut->front().text, whole->front().text.substr(0, whole->front().text.find("8, 9")));
  EXPECT_EQ(streamed, cut->front().text);
}

TEST(Generate, ACancelledRunKeepsWhatItHas) {
  test::LoadedModel model = test::LoadModel(test::TinyPath("qwen3-dense.gguf"), Options(1));
  ASSERT_TRUE(model.engine);
  const std::vector<GenerationRequest> requests = Requests(2);
  std::atomic<bool> cancel{false};
  GenerationHooks hooks;
  int seen = 0;
  hooks.on_token = [&](std::size_t, const GeneratedToken&) {
    if (++seen == 4) cancel = true;
    return Status();
  };
  const auto results = Generate(*model.engine, nullptr, requests, hooks, &cancel);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].tokens.size(), 4u);
  EXPECT_EQ((*results)[0].stop, StopReason::kInterrupted);
  EXPECT_EQ((*results)[1].stop, StopReason::kInterrupted);
}

TEST(Generate, RefusesBadRequests) {
  test::LoadedModel model = test::LoadModel(test::TinyPath("qwen3-dense.gguf"), Options(1));
  ASSERT_TRUE(model.engine);
  GenerationRequest request;
  EXPECT_EQ(Generate(*model.engine, nullptr, {&request, 1}, {}).status().code(), Code::kInvalid);
  request.prompt.assign(201, 1);
  const Status too_long = Generate(*model.engine, nullptr, {&request, 1}, {}).status();
  EXPECT_EQ(too_long.code(), Code::kInvalid);
  EXPECT_NE(too_long.message().find("201"), std::string::npos) << too_long.message();
  EXPECT_NE(too_long.message().find("200"), std::string::npos) << too_long.message();
  request.prompt = {500};
  EXPECT_EQ(Generate(*model.engine, nullptr, {&request, 1}, {}).status().code(), Code::kInvalid);
  request.prompt = {5};
  request.stop = {"x"};
  EXPECT_EQ(Generate(*model.engine, nullptr, {&request, 1}, {}).status().code(), Code::kInvalid);
}

}  // namespace
}  // namespace vt
