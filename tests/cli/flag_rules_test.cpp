// Rows and rules that flag tables of several tools have in common.
#include "cli/flag_rules.h"

#include <gtest/gtest.h>

#include <map>

#include "cli/flag_rows.h"

namespace vt::cli {
namespace {

constexpr unsigned kMake = 1, kShow = 2;

struct Values {
  std::string file;
  std::string kv_type = "f16";
  bool loud = false;
  std::map<std::string, std::string> kernels;
  unsigned mode = kMake;
};

std::vector<Flag> Table(Values* v) {
  return {
      NameFlag(WithLetter('f', FlagRow("All", "file", "FILE", "a file")), &v->file),
      KvTypeFlag(FlagRow("All", "kv-type", "TYPE", "a type", kMake), &v->kv_type),
      SwitchFlag(FlagRow("All", "loud", "", "a switch", kShow), &v->loud),
      KernelsFlag(FlagRow("All", "kernel", "OP=NAME", "a kernel"), &v->kernels),
      ModeFlag(FlagRow("All", "show", "", "shows"), &v->mode, kShow),
  };
}

std::string Refusal(const std::vector<std::string_view>& args) {
  Values values;
  const std::vector<Flag> table = Table(&values);
  const Result<GivenFlags> given = ParseFlags(table, args);
  if (!given.ok()) return given.status().message();
  return CheckEffect(table, *given, values.mode, values.mode == kShow ? "--show" : "making")
      .message();
}

TEST(FlagRules, AFlagWithoutEffectIsRefused) {
  EXPECT_EQ(Refusal({"--kv-type", "f32"}), "");
  EXPECT_EQ(Refusal({"--show", "--loud"}), "");
  EXPECT_EQ(Refusal({"--show", "--kv-type", "f32"}),
            "--kv-type: has no effect with --show; leave it out");
  EXPECT_EQ(Refusal({"--loud"}), "--loud: has no effect with making; leave it out");
}

TEST(FlagRules, ValuesThatRowsRefuse) {
  EXPECT_EQ(Refusal({"--file", ""}), "--file: the name is empty");
  EXPECT_EQ(Refusal({"--kv-type", "q9"}),
            "--kv-type: \"q9\" is not known (allowed: f32, f16, bf16, q8_0)");
  EXPECT_EQ(Refusal({"--kernel", "add=a", "--kernel", "add=b"}),
            "--kernel: op add has two kernels");
  for (const char* wrong : {"add", "=a", "add="}) {
    EXPECT_EQ(Refusal({"--kernel", wrong}), "--kernel: \"" + std::string(wrong) +
                                                "\" is not OP=NAME (as in matmul=cpu.scalar.f32)");
  }
  EXPECT_EQ(Refusal({"--kernel", "add=a", "--kernel", "mul=a"}), "");
}

TEST(FlagRules, PairsThatContradictAndPairsThatNeedEachOther) {
  EXPECT_EQ(CheckExclusive({"a", "c"}, {{"a", "b"}, {"b", "c"}}).message(), "");
  EXPECT_EQ(CheckExclusive({"b", "c"}, {{"a", "b"}, {"b", "c"}}).message(),
            "--b and --c contradict each other; give one");
  EXPECT_EQ(CheckAlternatives({"json", "caps", "device"}).message(), "");
  for (const FlagPair& pair :
       {FlagPair("json", "table"), {"caps", "profile"}, {"caps", "sim"}, {"profile", "sim"}}) {
    const std::string message = CheckAlternatives({pair.first, pair.second}).message();
    EXPECT_EQ(message, "--" + std::string(pair.first) + " and --" + std::string(pair.second) +
                           " contradict each other; give one");
  }
  EXPECT_EQ(CheckNeeds({"b"}, {{"a", "b"}}).message(), "");
  EXPECT_EQ(CheckNeeds({"a", "b"}, {{"a", "b"}}).message(), "");
  EXPECT_EQ(CheckNeeds({"a"}, {{"a", "b"}}).message(), "--a: has an effect only with --b");
}

TEST(FlagRules, OneFileAtMostIsStdin) {
  const NamedFile a{"--a", "-"}, b{"--b", "b.json"}, plan{"the plan", "-"};
  EXPECT_TRUE(CheckStdin(std::vector{a, b}).ok());
  EXPECT_EQ(CheckStdin(std::vector{a, b, plan}).message(),
            "--a and the plan both read stdin; give one of them a file");
}

TEST(FlagRules, FilesAreWhatIsNoFlagAndNoValue) {
  Values values;
  const std::vector<Flag> table = Table(&values);
  using List = std::vector<std::string_view>;
  const List args = {"x",      "--file", "y",        "-", "-f",      "z",
                     "--loud", "v",      "--file=w", "u", "--kernel"};
  const SplitArguments split = SplitFiles(table, args);
  EXPECT_EQ(split.flags, (List{"--file", "y", "-f", "z", "--loud", "--file=w", "--kernel"}));
  EXPECT_EQ(split.files, (std::vector<std::string>{"x", "-", "v", "u"}));
  EXPECT_FALSE(AsksForHelp(args));
  EXPECT_TRUE(AsksForHelp(List{"x", "-h"}));
  EXPECT_TRUE(AsksForHelp(List{"--file", "--help"}));
}

}  // namespace
}  // namespace vt::cli
