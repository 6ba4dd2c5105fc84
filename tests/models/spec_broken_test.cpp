// Headers whose container is sound but whose model is not: each is refused by name, or loads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/test_files.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

TEST(BrokenModels, AreRefusedByNameOrLoad) {
  const std::string folder = test::TempDir() + "/broken";
  const std::string command =
      "python3 '" + test::DataPath("make_broken_gguf.py") + "' '" + folder + "' > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto index = nlohmann::json::parse(test::ReadFile(folder + "/index.json"));
  int checked = 0;
  for (const auto& entry : index.is_array() ? index : index.at("files")) {
    if (entry.at("layer") != "model") continue;
    ++checked;
    const std::string name = entry.at("file");
    SCOPED_TRACE(name);
    const Result<GgufFile> file = GgufFile::Open(folder + "/" + name);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const Result<ModelSpec> spec = ReadModelSpec(*file);
    EXPECT_EQ(ExitCode(spec.status().code()), entry.at("expect_exit").get<int>())
        << spec.status().message();
    for (const std::string part : entry.at("message_contains")) {
      EXPECT_NE(spec.status().message().find(part), std::string::npos)
          << "wanted \"" << part << "\" in: " << spec.status().message();
    }
  }
  EXPECT_GE(checked, 40);
}

}  // namespace
}  // namespace vt
