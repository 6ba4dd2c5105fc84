// What is asked of the cpu alone asks no driver of a GPU: one that is full, or broken, is no
// matter.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

// What the dynamic linker says that it opened.
std::string LibrariesOf(const std::string& command) {
  const Outcome outcome = RunShell("BIN=\"$(dirname \"$VT\")\"; LD_DEBUG=libs " + command);
  EXPECT_EQ(outcome.exit_code, 0) << command;
  EXPECT_NE(outcome.err.find("libstdc++"), std::string::npos) << "the linker says nothing";
  return outcome.err;
}

TEST(CpuAlone, OpensNoDriver) {
  const std::string model = " -m '" + TinyPath("llama-dense.gguf") + "' --ctx 64 --device cpu";
  for (const std::string& command :
       {"\"$BIN/vt-run\"" + model + " --tokens 1,2 -n 2", "\"$BIN/vt-fit\" --table" + model,
        "\"$BIN/vt-fit\" --table" + model + " --draft '" + TinyPath("qwen3-dense.gguf") + "'"}) {
    const std::string libraries = LibrariesOf(command);
    for (const char* driver : {"libcuda", "libnvidia", "libamdhip", "libhsa"}) {
      EXPECT_EQ(libraries.find(driver), std::string::npos) << command << " opens " << driver;
    }
  }
}

}  // namespace
}  // namespace vt::test
