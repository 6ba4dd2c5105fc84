// What tests of vt-bench share, and the tool itself: commands, help, wrong flags.
#include "cli/bench_program.h"

#include "cli/json_schema.h"
#include "support/test_files.h"

namespace vt::test {

using nlohmann::json;

Command BenchCommand(const std::vector<std::string>& args) {
  Command command;
  command.program = VT_BENCH_BINARY;
  command.args = args;
  return command;
}

Outcome RunBenchProgram(const std::vector<std::string>& args) { return RunVt(BenchCommand(args)); }

// A model made once.
const std::string& TinyModel() {
  static const std::string path = [] {
    std::string file = TempDir() + "/tiny.gguf";
    const Outcome outcome = RunBenchProgram({"synth", "--shape", "tiny", "-o", file});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return file;
  }();
  return path;
}

std::vector<std::string> QuickRun(const std::vector<std::string>& more) {
  std::vector<std::string> args = {"run", "-m", TinyModel(), "-p",        "8", "-n",
                                   "4",   "-r", "2",         "--threads", "1", "--quiet"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

json Document(const Outcome& outcome, const std::string& schema) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Lines(outcome.out).size(), 1u) << outcome.out.substr(0, 500);
  const json document = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(SchemaErrors(document, schema), "");
  return document;
}

void ExpectError(const Outcome& outcome, int exit_code, const std::string& says) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
}

namespace {

TEST(BenchRun, WhatUsersGetWrong) {
  ExpectError(RunBenchProgram({}), 2, "no command");
  ExpectError(RunBenchProgram({"rum"}), 2, "the nearest is run");
  ExpectError(RunBenchProgram({"run"}), 2, "--model: not given");
  ExpectError(RunBenchProgram({"run", "-m", "none.gguf"}), 3, "none.gguf");
  ExpectError(RunBenchProgram({"run", "--dephts", "1"}), 2, "--depths");
  ExpectError(RunBenchProgram(QuickRun({"-b", "0"})), 2, "--batches");
  ExpectError(RunBenchProgram(QuickRun({"-b", "1,1"})), 2, "twice");
  ExpectError(RunBenchProgram(QuickRun({"-d", "9000"})), 2, "positions the model was trained on");
  ExpectError(RunBenchProgram(QuickRun({"--csv", "--markdown"})), 2, "contradicts");
  ExpectError(RunBenchProgram(QuickRun({"-o", "/none/there/x.json"})), 2, "/none/there/x.json");
  const json error = json::parse(RunBenchProgram({"run", "--json"}).out);
  EXPECT_EQ(SchemaErrors(error, "vt.error.schema.json"), "");
}

TEST(BenchRun, HelpIsShort) {
  for (const char* command : {"", "run", "compare", "floor", "synth", "ops", "calibrate"}) {
    std::vector<std::string> args = {"--help"};
    if (*command) args.insert(args.begin(), command);
    const Outcome outcome = RunBenchProgram(args);
    EXPECT_EQ(outcome.exit_code, 0) << command << outcome.err;
    EXPECT_LE(Lines(outcome.out).size(), 24u) << command;
    for (const std::string& line : Lines(outcome.out)) EXPECT_LE(line.size(), 80u) << line;
  }
}

}  // namespace
}  // namespace vt::test
