#include "cli/flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/run_options.h"

namespace vt::cli {
namespace {

Status Parse(const std::vector<std::string_view>& args, RunOptions* options) {
  const std::vector<Flag> table = RunFlags(options);
  return ParseRunFlags(args, table, options);
}

std::string Message(const std::vector<std::string_view>& args) {
  RunOptions options;
  const Status status = Parse(args, &options);
  EXPECT_EQ(status.code(), Code::kInvalid);
  return status.message();
}

TEST(Flags, ReadsEveryForm) {
  RunOptions options;
  const Status status = Parse(
      {"-m", "x.gguf", "--prompt=-p", "-n", "-1", "--temperature", "0.5", "--stop", "a", "--stop",
       "b", "--logit-bias", "5=-1.5,7+2,9-inf", "--kernel", "matmul=cpu.scalar.f32"},
      &options);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(options.model, "x.gguf");
  EXPECT_EQ(options.prompt, "-p");
  EXPECT_EQ(options.max_tokens, -1);
  EXPECT_EQ(options.sampler.temperature, 0.5f);
  EXPECT_EQ(options.stop, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(options.sampler.logit_bias.size(), 3u);
  EXPECT_EQ(options.sampler.logit_bias[0], (std::pair<TokenId, float>(5, -1.5f)));
  EXPECT_EQ(options.sampler.logit_bias[1], (std::pair<TokenId, float>(7, 2.0f)));
  EXPECT_EQ(options.sampler.logit_bias[2].second, -std::numeric_limits<float>::infinity());
}

TEST(Flags, UnknownNamesTheNearest) {
  EXPECT_EQ(Message({"-m", "x", "--temprature", "0"}),
            "--temprature: unknown flag; the nearest is --temperature (--help lists all)");
  EXPECT_NE(Message({"--top_k", "4"}).find("nearest is --top-k"), std::string::npos);
  EXPECT_NE(Message({"--top_k=4"}).find("nearest is --top-k"), std::string::npos);
  EXPECT_NE(Message({"-x"}).find("-x: unknown flag"), std::string::npos);
  EXPECT_NE(Message({std::string_view("--\xff\xfe")}).find("\xEF\xBF\xBD"), std::string::npos);
}

TEST(Flags, RefusesWhatHasTwoMeaningsOrNone) {
  struct Case {
    std::vector<std::string_view> args;
    std::string_view says;
  };
  const Case cases[] = {
      {{"-m", "x", "-m", "y"}, "--model: given twice"},
      {{"-m", "x", "-p", "a", "-f", "b"}, "two prompts given"},
      {{"-m", "x", "--tokens", "1", "-p", "a"}, "two prompts given"},
      {{"-m", "x", "--jsonl", "-p", "a"}, "--jsonl and --prompt"},
      {{"-m", "x", "-p", "a", "--system", "b"}, "--system: has an effect only with --chat"},
      {{"-m", "x", "--messages", "f", "--chat", "--system", "b"}, "--system: cannot be added"},
      {{"-m", "x", "-p", "a", "--tools", "b"}, "--tools: has an effect only with"},
      {{"-m", "x", "-p", "a", "--chat-template", "b"}, "--chat-template: has an effect only"},
      {{"-m", "x", "-p", "a", "--date", "2026-01-02"}, "--date: has an effect only"},
      {{"-m", "x", "-p", "a", "--chat", "--special"}, "--special: has no effect"},
      {{"-m", "x", "--tokens", "1", "--no-bos"}, "--no-bos: has no effect"},
      {{"-m", "x", "--tokens", "1", "--chat"}, "--tokens and --chat"},
      {{"-m", "x", "-p", "a", "--sequences", "2"}, "--sequences: has an effect only with --jsonl"},
      {{"-m", "x", "-p", "a", "--no-prefix-reuse"}, "--no-prefix-reuse: has an effect only"},
      {{"-m", "x", "--jsonl", "--dump-logits", "f"}, "--dump-logits: takes one prompt"},
      {{"-m", "x", "-p", "a", "--logprobs", "2"}, "--logprobs: has an effect only with --json"},
      {{"-m", "x", "-p", "a", "--temperature", "0", "--top-k", "4"}, "--top-k: has no effect"},
      {{"-m", "x", "-p", "a", "--temperature", "0", "--seed", "4"}, "--seed: has no effect"},
      {{"-m", "x", "-p", "a", "--penalty-window", "4"}, "--penalty-window: has an effect only"},
      {{"-m", "x", "-p", "a", "--repeat-penalty", "1.1", "--penalty-window", "0"},
       "--repeat-penalty: has no effect"},
      {{"-m", "x", "--describe", "--list-archs"}, "has no effect with --"},
      {{"-m", "x", "--describe", "-n", "4"}, "--max-tokens: has no effect with --describe"},
      {{"-m", "x", "--dump-prompt", "-p", "a", "--special"}, "--special: has no effect with"},
      {{"-p", "a"}, "--model: no model file given"},
      {{"-m", "x", "stray"}, "\"stray\": not a flag"},
      {{"-m"}, "--model: needs a value"},
      {{"-m", "--json"}, "--model: needs a value, and \"--json\" is a flag"},
      {{"-m", "x", "--json=1"}, "--json: takes no value"},
      {{"-m", "x", "-n", "ten"}, "--max-tokens: \"ten\" is not a whole number"},
      {{"-m", "x", "-n", "99999999999999999999"}, "is out of range"},
      {{"-m", "x", "-n", "-2"}, "--max-tokens: -2 is out of range (allowed: at least -1)"},
      {{"-m", "x", "--ctx", "0"}, "--ctx: 0 is out of range (allowed: 1 to 2147483647)"},
      {{"-m", "x", "--top-p", "nan"}, "--top-p: \"nan\" is not a number"},
      {{"-m", "x", "-p", "a", "--temperature", "-1"}, "temperature"},
      {{"-m", "x", "--kv-type", "q4_0"}, "--kv-type: \"q4_0\" is not known (allowed: f32, f16"},
      {{"-m", "x", "--tokens", "1,,2"}, "--tokens: \"\" is not a whole number"},
      {{"-m", "x", "--tokens", ""}, "--tokens: \"\" is not a whole number"},
      {{"-m", "x", "--tokens", "1,-2"}, "--tokens: -2 is out of range"},
      {{"-m", "x", "--logit-bias", "5"}, "--logit-bias: \"5\" is not ID=BIAS"},
      {{"-m", "x", "--logit-bias", "5=1,5=2"}, "--logit-bias: token 5 has two biases"},
      {{"-m", "x", "--stop", ""}, "--stop: the text is empty"},
      {{"-m", "x", "--date", "2026-02-29", "--chat"}, "--date: \"2026-02-29\" is not a date"},
      {{"-m", "x", "-p", "a", "--kernel", "matmull=cpu.scalar.f32"}, "the nearest is matmul"},
      {{"-m", "x", "-p", "a", "--kernel", "matmul=cpu.scaler.f32"}, "has no kernel"},
      {{"-m", "x", "-p", "a", "--kernel", "matmul"}, "is not OP=NAME"},
  };
  for (const Case& c : cases) {
    RunOptions options;
    const Status status = Parse(c.args, &options);
    EXPECT_EQ(status.code(), Code::kInvalid) << c.says;
    EXPECT_NE(status.message().find(c.says), std::string::npos)
        << "want: " << c.says << "\ngot:  " << status.message();
  }
}

TEST(Flags, AcceptsWhatIsOff) {
  RunOptions options;
  EXPECT_TRUE(Parse({"-m", "x", "-p", "a", "--temperature", "0", "--top-k", "0", "--top-p", "1",
                     "--min-p", "0"},
                    &options)
                  .ok());
  RunOptions chat;
  EXPECT_TRUE(Parse({"-m", "x", "-p", "a", "--chat", "--tools", "f", "--system", "s"}, &chat).ok());
  RunOptions rendering;
  EXPECT_TRUE(Parse({"--dump-prompt", "--messages", "m", "--chat-template", "t"}, &rendering).ok());
}

TEST(Flags, HelpFitsATerminal) {
  RunOptions options;
  const std::vector<Flag> table = RunFlags(&options);
  const std::string help = RunHelp(table);
  std::size_t lines = 0;
  std::size_t at = 0;
  for (std::size_t end; (end = help.find('\n', at)) != std::string::npos; at = end + 1) {
    EXPECT_LE(end - at, 80u) << help.substr(at, end - at);
    ++lines;
  }
  EXPECT_LE(lines, 100u);
  for (const Flag& flag : table) {
    EXPECT_NE(help.find("--" + std::string(flag.name)), std::string::npos) << flag.name;
    EXPECT_FALSE(flag.doc.empty()) << flag.name;
    EXPECT_TRUE(flag.apply) << flag.name;
  }
}

TEST(Flags, NamesAndLettersAreUnique) {
  RunOptions options;
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const Flag& flag : RunFlags(&options)) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    if (flag.letter) {
      EXPECT_TRUE(letters.insert(flag.letter).second) << flag.letter;
    }
  }
}

TEST(Flags, DatesAreSecondsSince1970) {
  // Checked with `date -u -d ... +%s`.
  EXPECT_EQ(*ParseDate("1970-01-01"), 0);
  EXPECT_EQ(*ParseDate("2026-01-02T03:04:05"), 1767323045);
  EXPECT_EQ(*ParseDate("2024-02-29"), 1709164800);
  EXPECT_EQ(*ParseDate("2000-12-31T23:59:59"), 978307199);
  for (const char* wrong : {"2026", "2026-13-01", "2026-1-2", "2026-01-02 03:04:05",
                            "2026-01-02T24:00:00", "1969-12-31", "2100-02-29"}) {
    EXPECT_FALSE(ParseDate(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace vt::cli
