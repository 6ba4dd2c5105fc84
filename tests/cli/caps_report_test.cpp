// The report of a machine: as a document, as a table, filtered, described, and what users get
// wrong.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

std::string Profile(const std::string& name) { return DataPath("../../profiles/" + name); }

// The document on stdout, which must be the only thing there.
json Document(const Outcome& outcome, int exit_code = 0) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(Lines(outcome.out).size(), 1u) << outcome.out.substr(0, 500);
  const json document = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(SchemaErrors(document, "vt.caps.schema.json"), "");
  return document;
}

void ExpectError(const Outcome& outcome, int exit_code, const std::string& code,
                 const std::string& says) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  const json document = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << "stdout: " << outcome.out << "\nstderr: " << outcome.err;
  EXPECT_EQ(SchemaErrors(document, "vt.error.schema.json"), "");
  EXPECT_EQ(document["code"], code);
  const std::string message = document["message"];
  EXPECT_NE(message.find(says), std::string::npos) << "want: " << says << "\ngot:  " << message;
  EXPECT_EQ(outcome.err, "vt-caps: error: " + message + "\n");
}

void ExpectFits(const std::string& text) {
  for (const std::string& line : Lines(text)) EXPECT_LE(line.size(), 80u) << line;
}

TEST(CapsReport, IsADocumentWhenPiped) {
  const json document = Document(RunCaps({}));
  EXPECT_EQ(document["devices"][0]["id"], "cpu");
  EXPECT_EQ(document["backends"].size(), 4u);
  EXPECT_EQ(document["backends"][0]["registered"], true);
  int usable = 0;
  for (const json& row : document["kernels"]) {
    const bool is_usable = row["state"] == "usable";
    EXPECT_EQ(is_usable, row["reason"].is_null()) << row;
    EXPECT_EQ(is_usable, !row["devices"].empty()) << row;
    EXPECT_TRUE(row["verify"].is_null());
    usable += is_usable;
    if (row["kernel"] == "cpu.scalar.f32") {
      EXPECT_TRUE(is_usable) << row;
      EXPECT_FALSE(row["types"].empty()) << row;
    }
    if (row["device_kind"] == "sim") {
      EXPECT_EQ(row["state"], "unusable");
      EXPECT_EQ(row["reason"], "no sim device: no profile was given: use --sim FILE");
    }
    if (row["state"] == "not_built") {
      const std::string reason = row["reason"];
      EXPECT_NE(reason.find("configure with -DVT_"), std::string::npos) << reason;
    }
  }
  EXPECT_GT(usable, 25);
}

TEST(CapsReport, TwoRunsDifferInLiveMemoryAlone) {
  json a = Document(RunCaps({"--json"})), b = Document(RunCaps({"--json"}));
  for (json* document : {&a, &b}) {
    for (json& device : (*document)["devices"]) device.erase("memory");
  }
  EXPECT_EQ(a, b);
}

TEST(CapsReport, IsATableAtATerminal) {
  Command command = CapsCommand({});
  command.stdout_terminal = true;
  const Outcome outcome = RunVt(command);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err.rfind("devices\r\n  cpu", 0), 0u) << outcome.err.substr(0, 200);
  const Outcome table = RunCaps({"--table"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  ExpectFits(table.out);
  for (const char* part : {"devices\n", "backends\n", "  matmul ", "cpu.scalar.f32", "GiB usable",
                           "q8_0 (any pair)", "more kernels are for"}) {
    EXPECT_NE(table.out.find(part), std::string::npos) << part;
  }
  command = CapsCommand({"--json"});
  command.stdout_terminal = true;
  EXPECT_EQ(RunVt(command).err.rfind("{\"schema\":\"vt.caps/1\"", 0), 0u);
}

TEST(CapsReport, Filters) {
  json document = Document(RunCaps({"--op", "matmul", "--op", "add", "--device", "cpu"}));
  EXPECT_EQ(document["filters"]["ops"], json({"matmul", "add"}));
  for (const json& row : document["kernels"]) {
    EXPECT_TRUE(row["op"] == "matmul" || row["op"] == "add");
    EXPECT_EQ(row["device_kind"], "cpu");
  }
  document = Document(RunCaps({"--dtype", "q8_0"}));
  EXPECT_FALSE(document["kernels"].empty());
  for (const json& row : document["kernels"]) {
    bool takes = false;
    for (const std::string type : row["types"]) takes |= type.find("q8_0") != std::string::npos;
    EXPECT_TRUE(takes) << row;
  }
  // A kind without a device says why.
  document = Document(RunCaps({"--device", "sim", "--op", "add"}));
  EXPECT_TRUE(document["devices"].empty());
  EXPECT_FALSE(document["kernels"].empty());
  const Outcome table = RunCaps({"--device", "sim", "--op", "add", "--table"});
  EXPECT_NE(table.out.find("no: no sim device: no profile was given"), std::string::npos)
      << table.out;
  ExpectFits(table.out);
}

TEST(CapsReport, UnknownNamesAreAnsweredWithTheNearest) {
  ExpectError(RunCaps({"--op", "matmull"}), 2, "invalid",
              "--op \"matmull\": not known; the nearest is matmul (known: embed, ");
  ExpectError(RunCaps({"--dtype", "q4k"}), 2, "invalid",
              "--dtype \"q4k\": not known; the nearest is q4_k (known: f32, f16, ");
  ExpectError(RunCaps({"--device", "sim:0"}), 2, "not_found",
              "device \"sim:0\": not present (found: cpu");
  ExpectError(RunCaps({"--device", "gpu:0"}), 2, "not_found", "no such kind of device");
  ExpectError(RunCaps({"--op", ""}), 2, "invalid", "--op: the name is empty");
}

TEST(CapsReport, WrongFlags) {
  const Outcome outcome = RunCaps({"--opp", "matmul"});
  ExpectError(outcome, 2, "invalid", "--opp: unknown flag; the nearest is --op");
  ExpectError(RunCaps({"--json", "--table"}), 2, "invalid", "--json and --table contradict");
  ExpectError(RunCaps({"--verify", "--markdown", "--json"}), 2, "invalid",
              "--markdown: contradicts --verify");
  ExpectError(RunCaps({"--ctx", "8"}), 2, "invalid", "--ctx: has no effect with a report");
  ExpectError(RunCaps({"--verify", "--caps", "x.json"}), 2, "invalid",
              "--caps: has no effect with --verify");
  ExpectError(RunCaps({"--caps", "a", "--profile", "b"}), 2, "invalid", "contradict each other");
  ExpectError(RunCaps({"--timeout-s", "0", "--verify"}), 2, "invalid", "--timeout-s: 0 is out of");
  ExpectError(RunCaps({"matmul"}), 2, "invalid", "\"matmul\": not a flag");
  ExpectError(RunCaps({"--op"}), 2, "invalid", "--op: needs a value");
  ExpectError(RunCaps({"--model", ""}), 2, "invalid", "--model: the name is empty");
}

TEST(CapsReport, HelpFitsAScreen) {
  for (const char* flag : {"--help", "-h"}) {
    const Outcome outcome = RunCaps({flag});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_LE(Lines(outcome.out).size(), 24u);
    ExpectFits(outcome.out);
    EXPECT_NE(outcome.out.find("vt-caps diff A.json B.json"), std::string::npos);
  }
  EXPECT_EQ(RunCaps({"diff", "--help"}).exit_code, 0);
  EXPECT_EQ(RunCaps({"--op", "nonsense", "--help"}).exit_code, 0);
  EXPECT_EQ(RunCaps({"--version"}).out.rfind("vt-caps ", 0), 0u);
}

TEST(CapsReport, InstructionSetsAtMost) {
  const json document = Document(RunCaps({"--isa", "scalar"}));
  EXPECT_TRUE(document["devices"][0]["features"].empty());
  for (const json& row : document["kernels"]) {
    if (row["device_kind"] == "cpu" && !row["needs"].empty()) {
      EXPECT_EQ(row["state"], "unusable") << row;
      const std::string reason = row["reason"];
      EXPECT_NE(reason.find("lacks avx"), std::string::npos) << reason;
    }
  }
  ExpectError(RunCaps({"--isa", "neon"}), 2, "invalid", "allowed: scalar, avx2");
}

TEST(CapsReport, SimulatedDevice) {
  const json document =
      Document(RunCaps({"--sim", Profile("sim-small.json"), "--device", "sim:0"}));
  ASSERT_EQ(document["devices"].size(), 1u);
  EXPECT_EQ(document["devices"][0]["id"], "sim:0");
  int usable = 0;
  for (const json& row : document["kernels"]) {
    EXPECT_EQ(row["device_kind"], "sim");
    if (row["state"] == "usable") {
      EXPECT_EQ(row["devices"], json({"sim:0"}));
      ++usable;
    }
  }
  EXPECT_GT(usable, 20);
  ExpectError(RunCaps({"--sim", "nowhere.json"}), 2, "not_found", "nowhere.json");
  const std::string bad = WriteTemp("bad.json", R"({"schema":"vt.profile/1","name":"x","nom":1})");
  const Outcome outcome = RunCaps({"--sim", bad});
  ExpectError(outcome, 2, "invalid", "bad.json: /nom: unknown key");
  EXPECT_EQ(json::parse(outcome.out)["at"], "/nom");
  EXPECT_EQ(
      Document(RunCaps({"--sim", Profile("r9700-x2.json"), "--device", "sim"}))["devices"].size(),
      3u);
}

TEST(CapsReport, EveryProfileIsAMachine) {
  for (const char* name : {"rtx-4090.json", "strix-halo-gfx1151.json", "apple-m4-max.json",
                           "mi300x.json", "xeon-amx.json", "intel-arc-b580.json"}) {
    const json document = Document(RunCaps({"--profile", Profile(name)}));
    EXPECT_FALSE(document["devices"].empty()) << name;
    // What this build lacks is no fault of theirs.
    for (const json& row : document["kernels"]) EXPECT_NE(row["state"], "not_built") << name << row;
    const Outcome table = RunCaps({"--profile", Profile(name), "--table"});
    EXPECT_EQ(table.exit_code, 0);
    ExpectFits(table.out);
  }
  const json apple = Document(RunCaps({"--profile", Profile("apple-m4-max.json")}));
  EXPECT_FALSE(apple["undriven"].empty());
  const json strix = Document(RunCaps({"--profile", Profile("strix-halo-gfx1151.json")}));
  bool rows = false;
  for (const json& row : strix["kernels"]) {
    rows |= row["device_kind"] == "hip" && row["state"] == "usable";
  }
  EXPECT_TRUE(rows) << "kernels that this build may lack count for a machine that is described";
}

TEST(CapsReport, ADocumentStandsInForItsMachine) {
  const Outcome here = RunCaps({});
  const std::string path = WriteTemp("here.json", here.out);
  json document = Document(here), again = Document(RunCaps({"--caps", path}));
  // Rows of kinds that are not there are not built there for all that is known.
  EXPECT_EQ(again["devices"], document["devices"]);
  EXPECT_EQ(again["backends"], document["backends"]);
  ASSERT_EQ(again["kernels"].size(), document["kernels"].size());
  for (std::size_t i = 0; i < again["kernels"].size(); ++i) {
    EXPECT_EQ(again["kernels"][i]["devices"], document["kernels"][i]["devices"]);
    EXPECT_EQ(again["kernels"][i]["types"], document["kernels"][i]["types"]);
  }
  Command piped = CapsCommand({"--caps", "-"});
  piped.stdin_text = here.out;
  EXPECT_EQ(Document(RunVt(piped)), again);
}

TEST(CapsReport, DocumentsThatAreWrong) {
  const auto refused = [](const std::string& text, const std::string& at, const std::string& says) {
    const Outcome outcome = RunCaps({"--caps", WriteTemp("wrong.json", text)});
    ExpectError(outcome, 2, "invalid", says);
    const json at_json = json::parse(outcome.out)["at"];
    EXPECT_EQ(at_json, at.empty() ? json() : json(at)) << text;
  };
  refused("", "", "wrong.json: JSON: ");
  refused("[]", "", "must be an object");
  refused(R"({"schema":"vt.run/1"})", "/schema", "must be \"vt.caps/1\"");
  refused(R"({"devices":[]})", "/schema", "must be a text");
  refused(R"({"schema":"vt.caps/1","kernels":[]})", "/devices", "must be an array (found nothing)");
  refused(R"({"schema":"vt.caps/1","devices":[{"id":"cpu"}],"kernels":[]})", "/devices/0/kind",
          "must be a text");
  refused(R"({"schema":"vt.caps/1","devices":[{"id":"x","kind":"tpu"}],"kernels":[]})",
          "/devices/0/kind", "\"tpu\" is not known (allowed: cpu, cuda, hip, sim)");
  refused(
      R"({"schema":"vt.caps/1","devices":[{"id":"cpu","kind":"cpu","cores":"8"}],"kernels":[]})",
      "/devices/0/cores", "must be a whole number");
  refused(R"({"schema":"vt.caps/1","devices":[{"id":"cpu","kind":"cpu","memory":{"total_bytes":)"
          R"({"value":-1}}}],"kernels":[]})",
          "/devices/0/memory/total_bytes/value", "must be a whole number of at least 0");
  refused(R"({"schema":"vt.caps/1","devices":[],"kernels":[{"op":"add","kernel":"x",)"
          R"("device_kind":"cpu","tier":"best"}]})",
          "/kernels/0/tier", "\"best\" is not known");
  refused(R"({"schema":"vt.caps/1","devices":[],"kernels":[],"filters":{"ops":["add"]}})",
          "/filters", "lists only some kernels");
  ExpectError(RunCaps({"--caps", "nowhere.json"}), 2, "not_found",
              "nowhere.json: cannot be opened");
  ExpectError(RunCaps({"--caps", "/"}), 2, "invalid", "/: cannot be read");
}

TEST(CapsReport, DocumentsOfOtherVersionsAreRead) {
  json document = Document(RunCaps({}));
  document["later"] = {{"what", "ever"}};
  document["devices"][0]["colour"] = "grey";
  document["devices"][0]["features"].push_back("avx1024");
  document["devices"][0]["kept_quant_types"] = json({"q9_9", "q8_0"});
  document["kernels"].push_back({{"op", "later_op"},
                                 {"kernel", "cpu.later"},
                                 {"device_kind", "cpu"},
                                 {"tier", "native"},
                                 {"state", "usable"},
                                 {"devices", {"cpu"}}});
  const json read = Document(RunCaps({"--caps", WriteTemp("later.json", document.dump())}));
  EXPECT_EQ(read["devices"][0]["kept_quant_types"], json({"q8_0"}));
}

TEST(CapsReport, Streams) {
  // A reader that goes away, a full disk, streams that are closed.
  for (const char* flag : {"--table", "--json", "--markdown", "--help"}) {
    const Outcome head = RunShell(std::string("{ \"$CAPS\" ") + flag +
                                  "; echo $? >code; } | head -c 1 >first; cat code");
    EXPECT_EQ(head.out, "0\n") << flag;
    EXPECT_EQ(head.err, "") << flag;
  }
  Command full = CapsCommand({});
  full.stdout_path = "/dev/full";
  const Outcome no_space = RunVt(full);
  EXPECT_EQ(no_space.exit_code, 6);
  EXPECT_NE(no_space.err.find("No space left on device"), std::string::npos) << no_space.err;
  Command closed = CapsCommand({});
  closed.close_stdout = true;
  EXPECT_EQ(RunVt(closed).exit_code, 6);
  Command no_stdin = CapsCommand({});
  no_stdin.close_stdin = true;
  Document(RunVt(no_stdin));
  no_stdin.args = {"--caps", "-"};
  ExpectError(RunVt(no_stdin), 2, "invalid", "-: JSON: ");
}

}  // namespace
}  // namespace vt::test
