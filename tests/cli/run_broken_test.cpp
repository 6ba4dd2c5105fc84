// Every broken file of the corpus, given to the program: the exit code and the words a user gets,
// in under a second and 64 MiB; and every odd but legal one runs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

const std::string& Corpus() {
  static const std::string folder = [] {
    std::string made = TempDir() + "/broken";
    const Outcome outcome = RunShell("python3 '" + DataPath("make_broken_gguf.py") + "' " + made);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return made;
  }();
  return folder;
}

// A container case holds no whole model, or one that is only described.
std::vector<std::string> Arguments(const json& entry) {
  const std::string path = Corpus() + "/" + entry.at("file").get<std::string>();
  if (entry.at("layer") == "container" && entry.at("expect_exit") == 0) {
    return {"-m", path, "--describe"};
  }
  return {"-m", path, "-p", "a", "-n", "1", "--ctx", "32", "--threads", "1", "--quiet"};
}

TEST(RunBroken, EveryFileOfTheCorpusEndsAsItShould) {
  const json index = json::parse(ReadFile(Corpus() + "/index.json"));
  int refused = 0;
  for (const json& entry : index) {
    SCOPED_TRACE(entry.at("file").get<std::string>());
    const int expected = entry.at("expect_exit");
    const Outcome outcome = RunVt(Arguments(entry));
    EXPECT_EQ(outcome.exit_code, expected) << outcome.err;
    if (kMeasured) {
      EXPECT_LT(outcome.seconds, 1.0);
      EXPECT_LT(outcome.peak_resident_kib, 64 * 1024);
    }
    if (expected == 0) continue;
    ++refused;
    EXPECT_EQ(outcome.out, "");
    for (const std::string part : entry.at("message_contains")) {
      EXPECT_NE(outcome.err.find(part), std::string::npos)
          << "wanted \"" << part << "\" in: " << outcome.err;
    }
    EXPECT_EQ(ErrorField(outcome, "code"), expected == 3 ? "corrupt" : "unsupported");
  }
  EXPECT_GE(refused, 180);
}

// Peak resident memory is at most the file, what the plan says is private, and 64 MiB.
void CheckResident(const char* name, const std::vector<std::string>& more) {
  const auto path = ModelPath(name);
  if (!path) VT_NOT_RUN(name);
  std::vector<std::string> args = {"-m",     *path,           "-p", "Once upon a time", "-n", "8",
                                   "--json", "--temperature", "0"};
  args.insert(args.end(), more.begin(), more.end());
  const Outcome outcome = RunVt(args);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json end = json::parse(Lines(outcome.out).back());
  std::uint64_t planned = 0;
  for (const json& row : end.at("memory")) {
    EXPECT_EQ(row.at("predicted_bytes"), row.at("allocated_bytes")) << row;
    planned += row.at("predicted_bytes").get<std::uint64_t>();
  }
  if (kMeasured) {
    EXPECT_LE(static_cast<std::uint64_t>(outcome.peak_resident_kib) * 1024, planned + (64u << 20))
        << name;
  }
}

TEST(RunMemory, StaysWithinThePlanSmolLm2) { CheckResident("SmolLM2-135M-Instruct.Q4_1.gguf", {}); }
TEST(RunMemory, StaysWithinThePlanGemma3) {
  CheckResident("gemma-3-270m-q4_k_m.gguf", {"--ctx", "512", "--kv-type", "f32"});
}
TEST(RunMemory, StaysWithinThePlanQwen) {
  CheckResident("qwen2.5-coder-0.5b-q4_k_m.gguf", {"--ctx", "256", "--ubatch", "32"});
}

}  // namespace
}  // namespace vt::test
