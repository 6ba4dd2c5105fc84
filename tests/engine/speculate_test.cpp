// With a drafter, however good or bad, every answer is the one without it.
#include "engine/speculate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

// Deterministic numbers below `end`.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : state_(seed) {}
  std::uint32_t Below(std::int64_t end) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % static_cast<std::uint32_t>(end);
  }

 private:
  std::uint32_t state_;
};

// Guesses that a function makes.
class FunctionDrafter : public Drafter {
 public:
  using Function = std::function<void(DraftWork&)>;
  FunctionDrafter(std::size_t most, Function function)
      : most_(most), function_(std::move(function)) {}
  std::size_t most() const override { return most_; }
  Status Draft(std::span<DraftWork> work) override {
    for (DraftWork& w : work) {
      EXPECT_GE(w.most, 1u);
      EXPECT_LE(w.most, most_);
      function_(w);
    }
    return {};
  }
  void End(std::size_t request) override { ended_.push_back(request); }
  const std::vector<std::size_t>& ended() const { return ended_; }

 private:
  std::size_t most_;
  Function function_;
  std::vector<std::size_t> ended_;
};

// Another drafter's guesses, of which some are made wrong; every guess up to there must have been
// right, when the other one is the model itself.
class Spoiler : public Drafter {
 public:
  Spoiler(Drafter& inner, std::int64_t vocab) : inner_(inner), vocab_(vocab) {}
  std::size_t most() const override { return inner_.most(); }
  Status Draft(std::span<DraftWork> work) override {
    VT_RETURN_IF_ERROR(inner_.Draft(work));
    for (DraftWork& w : work) {
      std::size_t right = w.draft.size();
      if (numbers_.Below(4) != 0) {
        right = numbers_.Below(static_cast<std::int64_t>(right));
        w.draft[right] = static_cast<TokenId>((w.draft[right] + 1) % vocab_);
      }
      right_ += right;
    }
    return {};
  }
  void End(std::size_t request) override { inner_.End(request); }
  std::size_t right() const { return right_; }

 private:
  Drafter& inner_;
  std::int64_t vocab_;
  Numbers numbers_{99};
  std::size_t right_ = 0;
};

EngineOptions Options(std::int64_t sequences, std::int64_t ubatch = 512, int threads = 2) {
  EngineOptions options;
  options.context = 150;
  options.sequences = sequences;
  options.ubatch = ubatch;
  options.logit_rows = sequences * 9;
  options.threads = threads;
  return options;
}

std::string Tiny(const char* name) { return test::TinyPath(std::string(name) + ".gguf"); }

// Prompts and answers that cross the pages' borders at 64 and 128; the last one runs into the end
// of the context.
std::vector<GenerationRequest> Requests(float temperature) {
  std::vector<GenerationRequest> requests(3);
  const std::size_t lengths[] = {40, 58, 120};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t t = 0; t < lengths[i]; ++t) {
      requests[i].prompt.push_back(static_cast<TokenId>((t % 9 * 7 + i * 31 + 3) % 128));
    }
    requests[i].max_tokens = i == 2 ? -1 : 40;
    requests[i].sampler.seed = i;
    requests[i].sampler.temperature = temperature;
    requests[i].sampler.repeat_penalty = i == 1 ? 1.1f : 1.0f;
    requests[i].logprobs = 2;
  }
  return requests;
}

// All that the hooks and results tell of each request, but for the counts of speculation.
struct Answers {
  std::vector<std::string> events;
  std::vector<GenerationResult> results;
};
Answers Answer(Engine& engine, const std::vector<GenerationRequest>& requests, Drafter* drafter) {
  Answers answers;
  answers.events.resize(requests.size());
  GenerationHooks hooks;
  hooks.on_token = [&](std::size_t r, const GeneratedToken& token) {
    std::string& events = answers.events[r];
    events += std::to_string(token.id) + " " + std::to_string(token.logprob);
    for (const TokenLogprob& top : token.top) {
      events += " " + std::to_string(top.id) + ":" + std::to_string(top.logprob);
    }
    events += "\n";
    return Status();
  };
  hooks.on_end = [&](std::size_t r, const GenerationResult& result) {
    answers.events[r] += std::string(NameOf(result.stop));
    return Status();
  };
  Result<std::vector<GenerationResult>> results =
      Generate(engine, nullptr, requests, hooks, nullptr, drafter);
  EXPECT_TRUE(results.ok()) << results.status().message();
  if (!results.ok()) return answers;
  answers.results = std::move(*results);
  for (const GenerationResult& result : answers.results) {
    EXPECT_EQ(result.tokens.size(), result.steps + result.accepted);
    EXPECT_LE(result.accepted, result.drafted);
    if (!drafter) {
      EXPECT_EQ(result.drafted, 0u);
    }
  }
  return answers;
}

std::size_t Sum(const Answers& answers, std::size_t GenerationResult::*count) {
  std::size_t sum = 0;
  for (const GenerationResult& result : answers.results) sum += result.*count;
  return sum;
}

class Speculation : public testing::TestWithParam<const char*> {};

TEST_P(Speculation, NoGuessChangesAnAnswer) {
  for (const float temperature : {0.0f, 0.8f}) {
    const std::vector<GenerationRequest> requests = Requests(temperature);
    Answers plain;
    {
      test::LoadedModel model = test::LoadModel(Tiny(GetParam()), Options(1));
      ASSERT_TRUE(model.engine);
      plain = Answer(*model.engine, requests, nullptr);
      ASSERT_EQ(plain.results.size(), requests.size());
    }
    struct Setup {
      std::int64_t sequences, ubatch;
      int threads;
      std::vector<std::size_t> most;
    };
    for (const Setup& s : {Setup{1, 512, 1, {8}}, {3, 512, 2, {1, 4}}, {3, 7, 2, {8}}}) {
      test::LoadedModel model =
          test::LoadModel(Tiny(GetParam()), Options(s.sequences, s.ubatch, s.threads));
      ASSERT_TRUE(model.engine);
      const std::string setup = "temperature " + std::to_string(temperature) + ", " +
                                std::to_string(s.sequences) + " sequences, ubatch " +
                                std::to_string(s.ubatch);
      Numbers numbers(7);
      FunctionDrafter hostile(8, [&](DraftWork& w) {
        const std::size_t count = numbers.Below(static_cast<std::int64_t>(w.most) + 1);
        while (w.draft.size() < count) w.draft.push_back(static_cast<TokenId>(numbers.Below(128)));
      });
      const Answers hampered = Answer(*model.engine, requests, &hostile);
      EXPECT_EQ(hampered.events, plain.events) << setup << ", random guesses";
      EXPECT_EQ(hostile.ended().size(), requests.size());
      for (const std::size_t most : s.most) {
        // Knows the answers, and errs at every eleventh position.
        FunctionDrafter knowing(most, [&](DraftWork& w) {
          const std::size_t begin = w.tokens.size() - requests[w.request].prompt.size();
          const std::vector<TokenId>& answer = plain.results[w.request].tokens;
          for (std::size_t i = begin; i < std::min(begin + w.most, answer.size()); ++i) {
            w.draft.push_back(i % 11 == 10 ? (answer[i] + 1) % 128 : answer[i]);
          }
        });
        const Answers helped = Answer(*model.engine, requests, &knowing);
        EXPECT_EQ(helped.events, plain.events) << setup << ", up to " << most << " guesses";
        EXPECT_GT(2 * Sum(helped, &GenerationResult::accepted),
                  Sum(helped, &GenerationResult::drafted));
        EXPECT_GT(Sum(helped, &GenerationResult::accepted), 20u) << setup;
        PromptLookup lookup(most, 1);
        const Answers looked_up = Answer(*model.engine, requests, &lookup);
        EXPECT_EQ(looked_up.events, plain.events) << setup << ", lookup of up to " << most;
        EXPECT_GT(Sum(looked_up, &GenerationResult::drafted), 0u);
      }
    }
  }
}

// The drafter's own sequences go back too: over pages, and where windows have let go of some.
TEST_P(Speculation, AModelGuessesItself) {
  const std::vector<GenerationRequest> requests = Requests(0);
  for (const std::int64_t ubatch : {512, 16}) {
    test::LoadedModel model = test::LoadModel(Tiny(GetParam()), Options(3, ubatch));
    ASSERT_TRUE(model.engine);
    const Answers plain = Answer(*model.engine, requests, nullptr);
    const Result<std::unique_ptr<ModelDraft>> same =
        ModelDraft::Load(*model.file, model.engine->spec(), *model.engine, 6);
    ASSERT_TRUE(same.ok()) << same.status().message();
    for (const MemoryRow& row : (*same)->engine().Memory()) {
      EXPECT_EQ(row.predicted_bytes, row.allocated_bytes) << row.row;
    }
    std::vector<GenerationRequest> unpenalised = requests;
    unpenalised[1].sampler.repeat_penalty = 1;
    const Answers all_right = Answer(*model.engine, unpenalised, same->get());
    EXPECT_EQ(all_right.events[0], plain.events[0]);
    EXPECT_EQ(all_right.events[2], plain.events[2]);
    EXPECT_EQ(Sum(all_right, &GenerationResult::accepted),
              Sum(all_right, &GenerationResult::drafted));
    EXPECT_GT(Sum(all_right, &GenerationResult::accepted), 60u);
    Spoiler spoiler(**same, model.engine->spec().vocab);
    const Answers spoiled = Answer(*model.engine, unpenalised, &spoiler);
    EXPECT_EQ(spoiled.events, all_right.events);
    EXPECT_EQ(Sum(spoiled, &GenerationResult::accepted), spoiler.right());
    EXPECT_LT(spoiler.right(), Sum(spoiled, &GenerationResult::drafted));
  }
}

// Windows and chunks, shared and latent keys, an indexer, experts.
INSTANTIATE_TEST_SUITE_P(Models, Speculation,
                         testing::Values("qwen3-dense", "gemma3-dense", "gemma4-e4b", "llama4-moe",
                                         "deepseek2-moe", "glm-dsa-moe"),
                         [](const testing::TestParamInfo<const char*>& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Speculate, AnotherModelGuesses) {
  test::LoadedModel model = test::LoadModel(Tiny("qwen3-dense"), Options(2));
  test::LoadedModel other = test::LoadModel(Tiny("gemma3-dense"), Options(1));
  ASSERT_TRUE(model.engine && other.engine);
  const Result<std::unique_ptr<ModelDraft>> draft =
      ModelDraft::Load(*other.file, other.engine->spec(), *model.engine, 4);
  ASSERT_TRUE(draft.ok()) << draft.status().message();
  for (const float temperature : {0.0f, 0.8f}) {
    const std::vector<GenerationRequest> requests = Requests(temperature);
    const Answers plain = Answer(*model.engine, requests, nullptr);
    const Answers helped = Answer(*model.engine, requests, draft->get());
    EXPECT_EQ(helped.events, plain.events);
    EXPECT_LT(Sum(helped, &GenerationResult::accepted), Sum(helped, &GenerationResult::drafted));
  }
}

TEST(Speculate, AnAnswerEndsInsideADraft) {
  test::LoadedModel model = test::LoadModel(Tiny("qwen3-dense"), Options(1));
  ASSERT_TRUE(model.engine);
  GenerationRequest request = Requests(0.8f)[0];
  const Answers whole = Answer(*model.engine, {request}, nullptr);
  const std::vector<TokenId> answer = whole.results[0].tokens;
  request.end_tokens = {answer[12]};
  const Answers plain = Answer(*model.engine, {request}, nullptr);
  ASSERT_LE(plain.results[0].tokens.size(), 13u);
  FunctionDrafter knowing(8, [&](DraftWork& w) {
    const std::size_t begin = w.tokens.size() - request.prompt.size();
    w.draft.assign(answer.begin() + static_cast<std::ptrdiff_t>(begin),
                   answer.begin() + static_cast<std::ptrdiff_t>(begin + w.most));
  });
  const Answers helped = Answer(*model.engine, {request}, &knowing);
  EXPECT_EQ(helped.events, plain.events);
  EXPECT_EQ(helped.results[0].stop, StopReason::kEndToken);
  EXPECT_GT(helped.results[0].drafted, helped.results[0].accepted);
}

TEST(Speculate, NothingIsGuessedBeyondTheAnswersLength) {
  test::LoadedModel model = test::LoadModel(Tiny("qwen3-dense"), Options(1));
  ASSERT_TRUE(model.engine);
  std::vector<GenerationRequest> requests = Requests(0);
  requests[0].max_tokens = 1;
  requests[1].max_tokens = 3;
  std::vector<std::size_t> most(3, 0);
  FunctionDrafter watching(8, [&](DraftWork& w) {
    most[w.request] = std::max(most[w.request], w.most);
    EXPECT_LE(w.tokens.size() + w.most, 150u) << "the context has no more";
    w.draft.assign(w.most, 5);
  });
  const Answers answers = Answer(*model.engine, requests, &watching);
  EXPECT_EQ(most, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(answers.results[2].stop, StopReason::kContextFull);
}

// Tokens that come one by one and are taken back all at once, where each step alone could already
// do without a page of the window.
TEST(Speculate, TentativeStepsOfAWindowedModelGoBack) {
  test::LoadedModel model = test::LoadModel(Tiny("gemma3-dense"), Options(1));  // window 32
  ASSERT_TRUE(model.engine);
  Engine& engine = *model.engine;
  std::vector<TokenId> tokens;
  Numbers numbers(3);
  for (int i = 0; i < 100; ++i) tokens.push_back(static_cast<TokenId>(numbers.Below(128)));
  const test::LogitTable want = test::PromptLogits(engine, tokens, 100);
  const Result<SequenceId> sequence = engine.Open({}, nullptr);
  ASSERT_TRUE(sequence.ok());
  std::vector<float> last;
  const auto step = [&](std::span<const TokenId> part, bool tentative) {
    const StepTokens entry{.sequence = *sequence, .tokens = part, .tentative = tentative};
    return engine.Step({&entry, 1}, [&](std::size_t, std::size_t, std::span<const float> logits) {
      last.assign(logits.begin(), logits.end());
      return Status();
    });
  };
  ASSERT_TRUE(step(std::span(tokens).first(90), false).ok());
  const TokenId wrong = 1;
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(step({&wrong, 1}, true).ok());
  ASSERT_EQ(engine.Truncate(*sequence, 89).code(), Code::kInternal);
  ASSERT_TRUE(engine.Truncate(*sequence, 90).ok());
  EXPECT_EQ(engine.Length(*sequence), 90u);
  for (std::size_t i = 90; i < tokens.size(); ++i) {
    ASSERT_TRUE(step(std::span(tokens).subspan(i, 1), true).ok());
    EXPECT_EQ(last, want[i]) << i;
    ASSERT_TRUE(engine.Truncate(*sequence, i + 1).ok());
    EXPECT_EQ(engine.Truncate(*sequence, i).code(), Code::kInternal) << "kept for good";
  }
}

TEST(Speculate, RefusesModelsWithARecurrentState) {
  test::LoadedModel recurrent = test::LoadModel(Tiny("mamba2-dense"), Options(1));
  test::LoadedModel model = test::LoadModel(Tiny("qwen3-dense"), Options(1));
  ASSERT_TRUE(recurrent.engine && model.engine);
  GenerationRequest request;
  request.prompt = {1, 2, 3};
  PromptLookup lookup(8, 2);
  const Status target =
      Generate(*recurrent.engine, nullptr, {&request, 1}, {}, nullptr, &lookup).status();
  EXPECT_EQ(target.code(), Code::kUnsupported);
  EXPECT_NE(target.message().find("mamba2"), std::string::npos) << target.message();
  const Status draft =
      ModelDraft::Load(*recurrent.file, recurrent.engine->spec(), *model.engine, 4).status();
  EXPECT_EQ(draft.code(), Code::kUnsupported);
  EXPECT_TRUE(draft.message().starts_with("draft model: ")) << draft.message();
}

// Each fits alone.
TEST(Speculate, RefusesADraftModelThatDoesNotFitBesideTheModel) {
  EngineOptions options = Options(1);
  options.device = "sim:0";
  options.kv_type = DType::kF32;
  DeviceInfo& sim = options.sims.emplace_back();
  sim.id = "sim:0";
  sim.kind = DeviceKind::kSim;
  sim.sim.emplace();
  sim.memory_total = {std::uint64_t{1} << 30, "a test"};
  options.logit_rows = 0;  // as many as the drafter has
  const auto load = [&] { return test::LoadModel(Tiny("llama-dense"), options); };
  std::uint64_t needed = 0;
  {
    test::LoadedModel model = load();
    ASSERT_TRUE(model.engine);
    for (const MemoryRow& row : model.engine->Memory()) {
      if (row.how != "mapped") needed += row.allocated_bytes;
    }
  }
  const auto draft = [&](std::uint64_t bytes) {
    options.sims[0].memory_total.bytes = bytes;
    test::LoadedModel model = load();
    EXPECT_TRUE(model.engine);
    return ModelDraft::Load(*model.file, model.engine->spec(), *model.engine, 4).status();
  };
  EXPECT_TRUE(draft(needed * 2).ok());
  const Status status = draft(needed * 2 - 1);
  EXPECT_EQ(status.code(), Code::kNoMemory) << status.message();
  EXPECT_TRUE(status.message().starts_with("draft model: memory row \"")) << status.message();
}

std::vector<TokenId> LookUp(const std::vector<TokenId>& tokens, std::size_t most,
                            std::size_t min_match) {
  PromptLookup lookup(8, min_match);
  DraftWork work{0, tokens, most, {}};
  EXPECT_TRUE(lookup.Draft({&work, 1}).ok());
  return work.draft;
}

TEST(PromptLookup, GoesOnAsTheLongestMatchDid) {
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(LookUp({1, 2, 3, 4, 5, 1, 2}, 3, 2), (Ids{3, 4, 5}));
  EXPECT_EQ(LookUp({1, 2, 3, 4, 5, 1, 2}, 8, 2), (Ids{3, 4, 5, 1, 2, 3, 4, 5}));
  // The longer match, though the shorter one is later; of two alike, the later.
  EXPECT_EQ(LookUp({7, 1, 2, 30, 8, 1, 2, 40, 7, 1, 2}, 1, 2), (Ids{30}));
  EXPECT_EQ(LookUp({7, 1, 2, 30, 7, 1, 2, 40, 7, 1, 2}, 1, 2), (Ids{40}));
  EXPECT_EQ(LookUp({4, 4}, 3, 1), (Ids{4, 4, 4}));
  EXPECT_EQ(LookUp({1, 2, 3, 2}, 2, 1), (Ids{3, 2}));
  EXPECT_EQ(LookUp({1, 2, 3, 2}, 2, 2), (Ids{}));
  EXPECT_EQ(LookUp({1, 2, 3, 4}, 2, 1), (Ids{}));
  EXPECT_EQ(LookUp({1}, 2, 1), (Ids{}));
  EXPECT_EQ(LookUp(Ids(50, 9), 20, 2), Ids(8, 9)) << "8 at most";
}

TEST(ShareDrafts, GivesEqualSharesOfTheRoom) {
  using Sizes = std::vector<std::size_t>;
  const auto share = [](Sizes wanted, std::size_t room) { return ShareDrafts(wanted, room); };
  EXPECT_EQ(share({8, 8, 8}, 100), (Sizes{8, 8, 8}));
  EXPECT_EQ(share({8, 0, 1, 8}, 9), (Sizes{4, 0, 1, 4}));
  EXPECT_EQ(share({8, 8}, 1), (Sizes{0, 1}));
  EXPECT_EQ(share({8, 8}, 0), (Sizes{0, 0}));
  EXPECT_EQ(share({}, 5), Sizes{});
}

TEST(SameVocabulary, TellsNumberAndTexts) {
  test::LoadedModel model = test::LoadModel(Tiny("qwen3-dense"), Options(1));
  ASSERT_TRUE(model.engine);
  ModelSpec larger = model.engine->spec();
  EXPECT_TRUE(CheckSameVocabulary(*model.file, larger, *model.file, larger).ok());
  larger.vocab = 200;
  const Status status = CheckSameVocabulary(*model.file, model.engine->spec(), *model.file, larger);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("has 128 tokens, the model's 200"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace vt
