// Interruption in every phase.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

void Sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(RunSignals, GenerationEndsWithItsRecord) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    Command command;
    command.args = {"-m",       TinyPath("llama-dense.gguf"),
                    "--tokens", "1",
                    "-n",       "-1",
                    "--ctx",    "1000000",
                    "--json",   "--quiet"};
    Running running(command);
    ASSERT_TRUE(running.WaitForOutput(4000));
    const double sent = Now();
    running.Signal(signal_number);
    const Outcome outcome = running.Wait();
    EXPECT_LT(Now() - sent, 1.0);
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    const std::vector<std::string> lines = Lines(outcome.out);
    const json end = json::parse(lines.back());
    EXPECT_EQ(end["type"], "end");
    EXPECT_EQ(end["stop"]["reason"], "interrupted");
    EXPECT_EQ(end["token_count"], lines.size() - 2);
  }
}

TEST(RunSignals, TextSoFarIsOut) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  Command command;
  command.args = {"-m",    *model, "-p",           "Once upon a time",
                  "-n",    "-1",   "--logit-bias", "0=-inf,2=-inf",
                  "--ctx", "8192"};
  Running running(command);
  ASSERT_TRUE(running.WaitForOutput(20));
  const double sent = Now();
  running.Signal(SIGINT);
  const Outcome outcome = running.Wait();
  EXPECT_LT(Now() - sent, 1.0);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_GE(outcome.out.size(), 20u);
  EXPECT_TRUE(outcome.out.ends_with('\n'));
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
}

TEST(RunSignals, LoadAndPrompt) {
  const auto model = ModelPath("qwen2.5-coder-0.5b-q4_k_m.gguf");
  if (!model) VT_NOT_RUN("qwen2.5-coder-0.5b-q4_k_m.gguf");
  // A prompt of several seconds; the signal falls into the header, the load or the prompt.
  std::string prompt;
  for (int i = 0; i < 6000; ++i) prompt += "word ";
  for (const int ms : {1, 20, 100, 400, 1500}) {
    Command command;
    command.args = {"-m", *model, "-n", "100", "--ctx", "8192", "--exact"};
    command.stdin_text = prompt;
    Running running(command);
    Sleep(ms);
    const double sent = Now();
    running.Signal(SIGINT);
    const Outcome outcome = running.Wait();
    EXPECT_LT(Now() - sent, 1.0) << "after " << ms << " ms";
    // In the first milliseconds the process may not be vt-run yet.
    if (ms >= 20) {
      EXPECT_EQ(outcome.exit_code, 130) << "after " << ms << " ms: " << outcome.err;
    }
  }
}

TEST(RunSignals, WaitingForStdin) {
  // A fifo that nobody writes to.
  const std::string folder = TempDir();
  const Outcome outcome = RunShell(
      "mkfifo fifo && { sleep 5 > fifo & } && { \"$VT\" -m x < fifo & "
      "pid=$!; sleep 0.4; kill -INT $pid; wait $pid; }");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
}

TEST(RunSignals, TheSecondKills) {
  Command command;
  command.args = {
      "-m",     TinyPath("llama-dense.gguf"), "--tokens", "1", "-n", "-1", "--ctx", "1000000",
      "--quiet"};
  Running running(command);
  ASSERT_TRUE(running.WaitForOutput(100));
  running.Signal(SIGSTOP);
  running.Signal(SIGINT);
  running.Signal(SIGTERM);
  running.Signal(SIGCONT);
  const Outcome outcome = running.Wait();
  EXPECT_TRUE(outcome.signal == SIGINT || outcome.signal == SIGTERM) << outcome.exit_code;
}

}  // namespace
}  // namespace vt::test
