#include "support/test_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;

namespace vt::test {
namespace {

std::string Folder(const char* variable, const char* fallback) {
  if (const char* set = std::getenv(variable); set && *set) return set;
  const char* home = std::getenv("HOME");
  return std::string(home ? home : ".") + "/.cache/vt/" + fallback;
}

std::optional<std::string> Present(const std::string& path) {
  if (fs::exists(path)) return path;
  return std::nullopt;
}

// Removes what TempDir made when the program ends.
struct TempRoots {
  std::vector<std::string> made;
  ~TempRoots() {
    std::error_code ignored;
    for (const std::string& path : made) fs::remove_all(path, ignored);
  }
};

}  // namespace

std::string DataPath(const std::string& name) {
  return std::string(VT_SOURCE_DIR) + "/tests/data/" + name;
}

std::optional<std::string> ModelPath(const std::string& name) {
  return Present(Folder("VT_MODELS", "models") + "/" + name);
}

std::optional<std::string> VocabPath(const std::string& name) {
  return Present(Folder("VT_VOCABS", "vocabs") + "/" + name);
}

std::string TinyPath(const std::string& name) {
  const std::string folder = Folder("VT_TINY", "tiny");
  const std::string path = folder + "/tiny/" + name;
  if (!fs::exists(path)) {
    fs::create_directories(folder);
    const std::string command = "tar -xJf '" + DataPath("tiny.tar.xz") + "' -C '" + folder + "'";
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << "cannot unpack: " << command;
  }
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << path;
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

std::string TempDir() {
  static TempRoots roots;
  std::string pattern = (fs::temp_directory_path() / "vt-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) ADD_FAILURE() << "cannot make " << pattern;
  roots.made.push_back(pattern);
  return pattern;
}

void NotRun(const std::string& needs) {
  ::testing::Test::RecordProperty("not_run", needs);
  if (const char* strict = std::getenv("VT_REQUIRE_FILES"); strict && *strict == '1') {
    ADD_FAILURE() << "not run: needs " << needs;
  }
}

}  // namespace vt::test
