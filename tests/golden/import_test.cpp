// Answers of other programs and finished runs. What programs really sent is in
// tests/data/golden-import; the samples written here are by hand, as their documentation says, for
// what is easier seen small. tests/cli/golden_import_test.cpp compares the real ones with vt.
#include "golden/import.h"

#include <cmath>

#include "golden/finished_run.h"
#include "golden/support.h"

namespace vt {
namespace {

constexpr const char* kLlamaServer = R"({"name":"hello",
 "request":{"prompt":[1,2,3],"n_predict":2,"n_probs":3,"temperature":-1},
 "response":{"index":0,"prompt":"as text","content":" a b","tokens":[],"id_slot":0,"stop":true,"model":"m","tokens_predicted":2,
  "completion_probabilities":[
   {"id":10,"token":" a","bytes":[32,97],"logprob":-0.25,
    "top_logprobs":[{"id":10,"token":" a","bytes":[32,97],"logprob":-0.25},{"id":11,"token":" b","bytes":[32,98],"logprob":-1.75}]},
   {"id":11,"token":" b","bytes":[32,98],"logprob":-0.5,
    "top_logprobs":[{"id":11,"token":" b","bytes":[32,98],"logprob":-0.5},{"id":10,"token":" a","bytes":[32,97],"logprob":-2.5}]}]}})";

constexpr const char* kVllm = R"({"request_id":"0","prompt":"x","prompt_token_ids":[1,2,3],
 "prompt_logprobs":[null,{"2":{"logprob":-3.5,"rank":7,"decoded_token":"b"},"9":{"logprob":-0.5,"rank":1,"decoded_token":"z"}},
  {"3":{"logprob":-0.25,"rank":1,"decoded_token":"c"}}],
 "outputs":[{"index":0,"text":"de","token_ids":[4,5],"finish_reason":"length","logprobs":[
  {"4":{"logprob":-0.125,"rank":1,"decoded_token":"d"},"5":{"logprob":-2.5,"rank":2,"decoded_token":"e"}},
  {"5":{"logprob":-0.5,"rank":1,"decoded_token":"e"},"4":{"logprob":-1.0,"rank":2,"decoded_token":"d"}}]}]})";

constexpr const char* kOpenAiChat =
    R"({"id":"chatcmpl-1","object":"chat.completion","model":"m","prompt_token_ids":[1,2],
 "choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop","logprobs":{"content":[
  {"token":"token_id:7","logprob":-0.25,"bytes":null,"top_logprobs":[
    {"token":"token_id:7","logprob":-0.25,"bytes":null},{"token":"token_id:8","logprob":-1.5,"bytes":null},
    {"token":"token_id:9","logprob":-9999.0,"bytes":null}]}]}}]})";

constexpr const char* kOpenAiLegacy =
    R"({"id":"cmpl-1","object":"text_completion","choices":[{"text":"ab","index":0,"finish_reason":"length",
 "logprobs":{"tokens":["token_id:4","token_id:5"],"token_logprobs":[-0.5,-0.25],
  "top_logprobs":[{"token_id:4":-0.5,"token_id:5":-1.0},{"token_id:5":-0.25}],"text_offset":[0,1]}}]})";

constexpr const char* kHf = R"({"input_ids":[[1,2]],"sequences":[[1,2,3,0]],
 "scores":[[[0.5,1.0,1.5,4.0]],[[3.0,1.0,0.0,2.5]]]})";

Golden MustImport(const char* form, const std::string& text) {
  const Result<Golden> golden = ImportGolden(form, text, nullptr);
  EXPECT_TRUE(golden.ok()) << golden.status().message();
  if (!golden.ok()) return {};
  // What it makes is a golden that the reader takes.
  return test::MustParse(test::Written(*golden));
}

TEST(Import, LlamaServer) {
  const GoldenCase one = MustImport("llama-server", kLlamaServer).cases.at(0);
  EXPECT_EQ(one.name, "hello");
  EXPECT_EQ(one.prompt, (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(one.generated, (std::vector<TokenId>{10, 11}));
  EXPECT_EQ(one.margins, (std::vector<double>{1.5, 2}));
  EXPECT_TRUE(one.rows.empty());
  ASSERT_EQ(one.generated_rows.size(), 2u);
  EXPECT_EQ(RowThatChose(one, 0), &one.generated_rows[0]);
  EXPECT_EQ(one.generated_rows[1].top[1].first, 10);
}

TEST(Import, VllmWithPromptLogprobs) {
  const GoldenCase one = MustImport("vllm", kVllm).cases.at(0);
  EXPECT_EQ(one.name, "answer-1");
  EXPECT_EQ(one.generated, (std::vector<TokenId>{4, 5}));
  ASSERT_EQ(one.rows.size(), 3u);  // after each prompt token
  EXPECT_EQ(one.rows[0].top[0].first, 9);
  EXPECT_EQ(one.rows[1].top[0].first, 3);
  EXPECT_EQ(one.rows[2].top[0].first, 4);
  ASSERT_EQ(one.generated_rows.size(), 1u);
  EXPECT_DOUBLE_EQ(one.margins[1], 0.5);
}

TEST(Import, OpenAi) {
  const GoldenCase chat = MustImport("openai-logprobs", kOpenAiChat).cases.at(0);
  EXPECT_EQ(chat.generated, (std::vector<TokenId>{7}));
  EXPECT_EQ(chat.generated_rows[0].top.size(), 2u) << "-9999 says only that it is unlikely";
  const std::string wrapped =
      std::string(R"({"name":"l","request":{"prompt":[3]},"response":)") + kOpenAiLegacy + "}";
  const GoldenCase legacy = MustImport("openai-logprobs", wrapped).cases.at(0);
  EXPECT_EQ(legacy.generated, (std::vector<TokenId>{4, 5}));
  EXPECT_DOUBLE_EQ(legacy.margins[0], 0.5);
  EXPECT_TRUE(std::isnan(legacy.margins[1]));
}

TEST(Import, HfScores) {
  const GoldenCase one = MustImport("hf", kHf).cases.at(0);
  EXPECT_EQ(one.prompt, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(one.generated, (std::vector<TokenId>{3, 0}));
  EXPECT_EQ(one.margins, (std::vector<double>{2.5, 0.5}));
  EXPECT_EQ(one.generated_rows[0].top.size(), 4u);
}

TEST(Import, ManyAnswersAsAnArrayOrLines) {
  std::string line = kHf;
  std::erase(line, '\n');
  EXPECT_EQ(MustImport("hf", "[" + line + "," + line + "]").cases.size(), 2u);
  EXPECT_EQ(MustImport("hf", line + "\n\n" + line + "\n").cases.at(1).name, "answer-2");
}

// --- what programs really sent, as far as it needs no vocabulary

std::string Sample(const std::string& name) {
  return test::ReadFile(test::DataPath("golden-import/" + name));
}

// The line of a sample whose entry has that name.
std::string Entry(const std::string& sample, const std::string& name) {
  std::string text = Sample(sample);
  const std::size_t at = text.find("{\"name\": \"" + name + "\"");
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

std::string WhyNot(const char* form, const std::string& text) {
  const Result<Golden> golden = ImportGolden(form, text, nullptr);
  EXPECT_FALSE(golden.ok()) << text.substr(0, 200);
  return golden.ok() ? "" : golden.status().at() + " " + golden.status().message();
}

const std::vector<TokenId> kFrance = {504, 3575, 282, 4649, 314};

TEST(ImportReal, LlamaServerIds) {
  const GoldenCase one = MustImport("llama-server", Entry("llama-server.jsonl", "ids")).cases.at(0);
  EXPECT_EQ(one.prompt, kFrance);
  EXPECT_EQ(one.generated, (std::vector<TokenId>{7042, 30, 198, 198, 504, 1797, 1918, 553}));
  EXPECT_NEAR(one.margins[0], 2.784745 - 0.248424, 1e-5);
  ASSERT_EQ(one.generated_rows.size(), 8u);
  EXPECT_EQ(one.generated_rows[0].top.size(), 5u);
  EXPECT_EQ(one.generated_rows[2].top[3].first, 2) << "an end token, whose text is empty";
}

TEST(ImportReal, VllmIds) {
  const GoldenCase one = MustImport("vllm", Entry("vllm.jsonl", "token-ids")).cases.at(0);
  EXPECT_EQ(one.name, "token-ids");
  EXPECT_EQ(one.prompt, kFrance) << "of the choice";
  EXPECT_EQ(one.generated, (std::vector<TokenId>{7042, 30, 198, 198, 504, 2988, 314, 42}));
  EXPECT_NEAR(one.margins[0], 2.740737 - 0.258073, 1e-5);
  ASSERT_EQ(one.rows.size(), kFrance.size());
  EXPECT_EQ(one.rows[0].top.size(), 3u) << "\" capital\" is not one of the highest";
  EXPECT_EQ(one.rows[0].top[0].first, 29);
  EXPECT_EQ(one.rows[1].top[0].first, 282);
  EXPECT_EQ(one.rows[4].top[0].first, 7042);
  EXPECT_EQ(one.generated_rows.size(), 7u);

  // "bytes" are those of the text that "token_id:504" stands for, or of "token_id:504" itself.
  const GoldenCase chat = MustImport("vllm", Entry("vllm.jsonl", "chat-token-ids")).cases.at(0);
  EXPECT_EQ(chat.prompt.size(), 25u);
  EXPECT_EQ(chat.prompt[0], 1);
  EXPECT_EQ(chat.generated[0], 504);
  EXPECT_EQ(chat.generated_rows[0].top.size(), 5u);

  std::string without = Entry("vllm.jsonl", "chat-token-ids");
  const std::string ids = "\"token_ids\": [504,";
  ASSERT_NE(without.find(ids), std::string::npos);
  without.replace(without.find(ids), ids.size(), "\"other_ids\": [504,");
  EXPECT_EQ(MustImport("vllm", without).cases.at(0).generated, chat.generated);

  const Golden two = MustImport("vllm", Entry("vllm.jsonl", "two-prompts"));
  ASSERT_EQ(two.cases.size(), 2u);
  EXPECT_EQ(two.cases[0].name, "two-prompts-1");
  EXPECT_EQ(two.cases[0].prompt, kFrance);
  EXPECT_EQ(two.cases[1].name, "two-prompts-2");
  EXPECT_NE(two.cases[1].prompt, kFrance);
}

TEST(ImportReal, VllmOffline) {
  const GoldenCase one = MustImport("vllm", Sample("vllm-offline.json")).cases.at(0);
  const GoldenCase served = MustImport("vllm", Entry("vllm.jsonl", "token-ids")).cases.at(0);
  EXPECT_EQ(one.prompt, served.prompt);
  EXPECT_EQ(one.generated, served.generated);
  EXPECT_EQ(one.margins, served.margins);
  ASSERT_EQ(one.rows.size(), 5u);
  EXPECT_EQ(one.rows[0].top, served.rows[0].top);
}

TEST(ImportReal, Transformers) {
  const Golden golden = MustImport("hf", Sample("hf.jsonl"));
  ASSERT_EQ(golden.cases.size(), 2u);
  EXPECT_EQ(golden.cases[0].prompt.size(), 6u);
  EXPECT_EQ(golden.cases[1].prompt.size(), 57u);
  for (const GoldenCase& one : golden.cases) {
    EXPECT_EQ(one.generated.size(), 4u);
    EXPECT_EQ(one.generated_rows[3].top.size(), 40u);
  }
}

// A text, a chat, ids with texts between them.
TEST(ImportReal, TextsNeedAVocabulary) {
  struct Need {
    const char *form, *sample, *name;
  };
  for (const Need& need : {Need{"vllm", "vllm.jsonl", "texts"}, Need{"vllm", "vllm.jsonl", "echo"},
                           Need{"vllm", "vllm.jsonl", "chat-texts-to-the-end"},
                           Need{"llama-server", "llama-server.jsonl", "text"},
                           Need{"llama-server", "llama-server.jsonl", "ids-and-text"},
                           Need{"openai-logprobs", "llama-server-openai.jsonl", "chat"}}) {
    EXPECT_NE(WhyNot(need.form, Entry(need.sample, need.name)).find("give --model"),
              std::string::npos)
        << need.name;
  }
}

// An answer cut off anywhere is no answer.
TEST(ImportReal, CutOff) {
  for (const auto& [form, whole] : {std::pair("vllm", Sample("vllm-offline.json")),
                                    {"vllm", Entry("vllm.jsonl", "token-ids")},
                                    {"llama-server", Entry("llama-server.jsonl", "ids")},
                                    {"hf", Sample("hf.jsonl")}}) {
    for (std::size_t size = whole.size() - 2; size > 10; size = size * 2 / 3) {
      EXPECT_NE(WhyNot(form, whole.substr(0, size)).find("at "), std::string::npos) << size;
    }
  }
}

// What people ask for by mistake. The prompts are texts; ids in their place need no vocabulary.
TEST(ImportReal, MistakesOfTheRequest) {
  struct Mistake {
    const char *form, *sample, *says;
  };
  constexpr const char* kLlama = "llama-server";
  constexpr const char* kOpenAi = "openai-logprobs";
  for (const Mistake& mistake :
       {Mistake{kLlama, "bad-stream.txt", "stream of events"},
        Mistake{kLlama, "bad-post-sampling.json", "post_sampling_probs false"},
        Mistake{kLlama, "bad-sampled.json", "make it with temperature 0"},
        Mistake{kLlama, "bad-no-logprobs.json", "ask for n_probs"},
        Mistake{kLlama, "bad-parts-llama-server.json", "has 1 entries for 3 tokens"},
        Mistake{kLlama, "bad-error.json", "an error: Expected 'messages' to be an array"},
        Mistake{kLlama, "bad-chat-no-logprobs.json", "--from openai-logprobs"},
        Mistake{kOpenAi, "bad-chat-no-logprobs.json", "ask for logprobs"},
        Mistake{kOpenAi, "bad-two-choices.json", "(2 given, 1 expected)"},
        Mistake{kOpenAi, "bad-parts-openai.json", "has 1 entries for 3 tokens"},
        Mistake{"vllm", "bad-parts-vllm.json", "text is empty"}}) {
    std::string text = Sample(mistake.sample);
    for (const auto& [key, count] :
         {std::pair("\"prompt\": \"The", 5), {"\"prompt\": \"🦊", 24}, {"\"messages\": [", 25}}) {
      const std::size_t at = text.find(key);
      if (at == std::string::npos) continue;
      text.insert(
          at, "\"prompt_token_ids\": " + nlohmann::json(std::vector<int>(count, 1)).dump() + ", ");
      break;
    }
    EXPECT_NE(WhyNot(mistake.form, text).find(mistake.says), std::string::npos)
        << mistake.sample << "\n"
        << WhyNot(mistake.form, text);
  }
}

// The program read more tokens than the prompt has here.
TEST(ImportReal, ThePromptsTokensAreCounted) {
  std::string text = Entry("llama-server.jsonl", "ids");
  const std::string prompt = "[504, 3575, 282, 4649, 314]";
  ASSERT_NE(text.find(prompt), std::string::npos);
  text.replace(text.find(prompt), prompt.size(), "[504, 3575]");
  EXPECT_NE(WhyNot("llama-server", text).find("counted 5 tokens in the prompt, here it has 2"),
            std::string::npos);
}

TEST(Import, SaysWhatIsWrong) {
  const auto error = [](const char* form, std::string text, const char* from, const char* to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
    const Result<Golden> golden = ImportGolden(form, text, nullptr);
    EXPECT_FALSE(golden.ok()) << to;
    return golden.ok() ? std::string() : golden.status().at() + " " + golden.status().message();
  };
  EXPECT_NE(error("llama-server", kLlamaServer,
                  "\"id\":10,\"token\":\" a\",\"bytes\":[32,97],\"log"
                  "prob\":-0.25,\n",
                  "\"id\":11,\"token\":\" a\",\"bytes\":[32,97],\"logprob\":"
                  "-3,\n")
                .find("sampled"),
            std::string::npos);
  EXPECT_NE(error("llama-server", kLlamaServer, "[1,2,3]", "\"text\"").find("--model"),
            std::string::npos);
  EXPECT_NE(error("llama-server", kLlamaServer, "completion_probabilities", "x")
                .find("/response/completion_probabilities"),
            std::string::npos);
  EXPECT_NE(error("openai-logprobs", kOpenAiChat, "token_id:7", "hi").find("--model"),
            std::string::npos);
  const std::string legacy =
      std::string(R"({"request":{"prompt":[3]},"response":)") + kOpenAiLegacy + "}";
  EXPECT_NE(error("openai-logprobs", legacy, "{\"token_id:4\":-0.5", "{\"token_id:4\":-0.75")
                .find("two tokens have this text"),
            std::string::npos);
  EXPECT_NE(error("vllm", kVllm, "[4,5]", "[4294967300,5]").find("/token_ids"), std::string::npos);
  EXPECT_NE(error("vllm", kVllm, "[null,", "[").find("/prompt_logprobs"), std::string::npos);
  EXPECT_NE(error("hf", kHf, "[[1,2,3,0]]", "[[2,2,3,0]]").find("/sequences"), std::string::npos);
  EXPECT_NE(error("hf", kHf, "]]]}", "]]").find("at byte"), std::string::npos);
}

// --- finished runs

constexpr const char* kRun =
    R"({"type":"start","schema":"vt.run/1","model":{"file":"m.gguf","digest":"xxh3-128:1"},"settings":{"temperature":{"value":0,"origin":"flag"}},"prompt_tokens":[1,2]}
{"type":"token","index":0,"id":3}
{"type":"end","ids":[3,4,5],"stop":{"reason":"max_tokens"},"prompt_token_count":2}
)";

std::vector<CaseReport> CheckRun(const std::string& text, const Golden& golden) {
  const Result<FinishedRun> run = ParseFinishedRun(text);
  EXPECT_TRUE(run.ok()) << run.status().message();
  if (!run.ok()) return {};
  const auto cases = CheckFinishedRun(golden, *run, CheckLimits(), nullptr);
  EXPECT_TRUE(cases.ok()) << cases.status().message();
  return cases.ok() ? *cases : std::vector<CaseReport>();
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(FinishedRun, OnePromptIsFoundByItsIds) {
  const Golden golden = test::MustParse(test::SmallGolden());
  const auto cases = CheckRun(kRun, golden);
  EXPECT_EQ(cases[0].state, CaseState::kSame);
  EXPECT_EQ(cases[0].same, 3u);
  EXPECT_EQ(cases[1].state, CaseState::kSkipped) << "the run has no such prompt";
  const auto wrong = CheckRun(Replaced(kRun, "[3,4,5]", "[3,6,5]"), golden);
  EXPECT_EQ(wrong[0].wrong, 1u);
  EXPECT_EQ(wrong[0].unchecked, 1u) << "after a wrong token the run is a text of its own";
  const auto tie = CheckRun(Replaced(kRun, "[3,4,5]", "[3,7,5]"), golden);
  EXPECT_EQ(tie[0].ties, 1u);
  const auto cut = CheckRun(Replaced(kRun, "[3,4,5]", "[3,4]"), golden);
  EXPECT_EQ(cut[0].state, CaseState::kWrong);
  const auto ended = CheckRun(
      Replaced(Replaced(kRun, "[3,4,5]", "[3,4]"), "max_tokens\"}", "end_token\"}"), golden);
  EXPECT_EQ(ended[0].state, CaseState::kSame);
  EXPECT_EQ(ended[0].unchecked, 1u);
}

// The golden's own second token, where its own margin is small, is a near tie; of a golden without
// logits nobody knows its second.
TEST(FinishedRun, NearTiesNeedTheGoldensSecond) {
  Golden golden = test::MustParse(test::SmallGolden());
  const std::string run = Replaced(kRun, "[3,4,5]", "[3,7,5]");
  const auto tie = CheckRun(run, golden);
  ASSERT_EQ(tie[0].ties, 1u);
  EXPECT_EQ(tie[0].unchecked, 1u);
  EXPECT_DOUBLE_EQ(tie[0].departures[0].golden_logit, 2);
  EXPECT_DOUBLE_EQ(tie[0].departures[0].golden_logit_of_ours, 1.999);
  CheckLimits limits;
  limits.tie = 0.0005;
  const auto narrow = CheckFinishedRun(golden, *ParseFinishedRun(run), limits, nullptr);
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ((*narrow)[0].wrong, 1u);
  limits = {};
  limits.allow_ties = true;
  EXPECT_EQ((*CheckFinishedRun(golden, *ParseFinishedRun(run), limits, nullptr))[0].state,
            CaseState::kNearTies);
  // A third token is wrong however near the second is.
  EXPECT_EQ(CheckRun(Replaced(kRun, "[3,4,5]", "[3,1,5]"), golden)[0].wrong, 1u);

  // Where the margin is not kept, the row has it; in full rows too.
  golden.cases[0].margins[1] = NAN;
  EXPECT_EQ(CheckRun(run, golden)[0].ties, 1u);
  GoldenRow& row = golden.cases[0].generated_rows[0];
  row.top.clear();
  row.dense = {0, 0, 0, 0, 2, 0, 0, 1.999f};
  EXPECT_EQ(CheckRun(run, golden)[0].ties, 1u);

  golden.cases[0].margins[1] = 0.001;
  golden.cases[0].rows.clear();
  golden.cases[0].generated_rows.clear();
  const auto unknown = CheckRun(run, golden);
  EXPECT_EQ(unknown[0].wrong, 1u);
  EXPECT_NE(unknown[0].reasons[0].find("keeps no logits there"), std::string::npos)
      << unknown[0].reasons[0];
  // Above the limit there is nothing to say.
  golden.cases[0].margins[1] = 0.5;
  EXPECT_EQ(CheckRun(run, golden)[0].reasons[0].find("keeps no logits"), std::string::npos);
}

TEST(FinishedRun, LinesAreFoundByTheirIds) {
  Golden golden = test::MustParse(test::SmallGolden());
  golden.cases.pop_back();
  const std::string line =
      R"({"type":"result","schema":"vt.run/1","index":0,"line":1,"id":"one","ids":[3,4,5],"stop":{"reason":"max_tokens"},"prompt_token_count":2,"error":null})";
  EXPECT_EQ(CheckRun(line + "\n", golden)[0].state, CaseState::kSame);
  EXPECT_EQ(CheckRun(Replaced(line, "\"one\"", "\"other\""), golden)[0].state, CaseState::kSkipped);
  // Without any id, as many answers as cases are taken in order.
  EXPECT_EQ(CheckRun(Replaced(line, "\"one\"", "null"), golden)[0].state, CaseState::kSame);
  golden.cases[0].name = "line-1";
  EXPECT_EQ(CheckRun(Replaced(line, "\"one\"", "null"), golden)[0].state, CaseState::kSame);
  golden.cases[0].name = "line-2";
  EXPECT_EQ(CheckRun(Replaced(line, "\"one\"", "null"), golden)[0].state, CaseState::kSame);
  golden.cases[0].name = "one";
  EXPECT_EQ(CheckRun(Replaced(line, "count\":2", "count\":3"), golden)[0].state, CaseState::kWrong);
  const auto failed = CheckRun(
      R"({"type":"result","id":"one","ids":null,"error":{"code":"invalid","message":"bad line"}})",
      golden);
  EXPECT_EQ(failed[0].state, CaseState::kWrong);
  EXPECT_NE(failed[0].reasons[0].find("bad line"), std::string::npos);
}

TEST(FinishedRun, SaysWhatIsNoRun) {
  const auto error = [](const std::string& text) {
    const Result<FinishedRun> run = ParseFinishedRun(text);
    return run.ok() ? std::string() : run.status().message();
  };
  EXPECT_NE(error("").find("empty"), std::string::npos);
  EXPECT_NE(error("Once upon a time\n").find("line 1"), std::string::npos);
  EXPECT_NE(error(std::string(kRun).substr(0, std::string(kRun).size() - 20)).find("line 3"),
            std::string::npos);
  EXPECT_NE(error(std::string(kRun).substr(0, std::string(kRun).rfind("{\"type\":\"end")).c_str())
                .find("cut off"),
            std::string::npos);
  EXPECT_NE(error(R"({"type":"error","code":"corrupt","message":"no model"})").find("no model"),
            std::string::npos);
  const auto run = ParseFinishedRun(Replaced(kRun, "\"value\":0", "\"value\":0.8"));
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(CheckFinishedRun(test::MustParse(test::SmallGolden()), *run, {}, nullptr).ok());
}

}  // namespace
}  // namespace vt
