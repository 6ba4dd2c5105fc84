#include "support/test_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace fs = std::filesystem;

namespace vt::test {
namespace {

std::string Folder(const char* variable, const char* fallback) {
  if (const char* set = std::getenv(variable); set && *set) return set;
  const char* home = std::getenv("HOME");
  return std::string(home ? home : ".") + "/.cache/vt/" + fallback;
}

struct Lookups {
  std::set<std::string> in_vain;            // required files that this test asked for in vain
  std::set<std::string> kept_from_running;  // those that kept a test from running: a test may look
                                            // in several places for one file
};

Lookups& RequiredLookups() {
  static Lookups lookups;
  return lookups;
}

// Whether VT_REQUIRE_FILES, a comma-separated list, names this kind of file.
bool Required(const std::string& kind) {
  const char* list = std::getenv("VT_REQUIRE_FILES");
  return list && (',' + std::string(list) + ',').find(',' + kind + ',') != std::string::npos;
}

std::optional<std::string> Present(const std::string& path, const std::string& kind) {
  if (fs::exists(path)) return path;
  if (Required(kind)) RequiredLookups().in_vain.insert(path);
  return std::nullopt;
}

// Unpacks an archive into a folder and returns the folder. Several test programs may start at once:
// one of them unpacks, the others wait for it. The size of the archive is kept beside the files, so
// that a newer archive is unpacked again.
std::string Unpacked(const std::string& archive, const fs::path& folder) {
  fs::create_directories(folder);
  const int lock = open((folder / ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) {
    ADD_FAILURE() << "cannot lock " << folder;
    return folder;
  }
  const std::string size = std::to_string(fs::file_size(archive));
  const fs::path stamp = folder / ".unpacked";
  std::string unpacked;
  std::ifstream(stamp) >> unpacked;
  if (unpacked != size) {
    const std::string command = "tar -xJf '" + archive + "' -C '" + folder.string() + "'";
    if (std::system(command.c_str()) == 0) {
      std::ofstream(stamp) << size << '\n';
    } else {
      ADD_FAILURE() << "cannot unpack: " << command;
    }
  }
  close(lock);
  return folder;
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
  return Present(Folder("VT_MODELS", "models") + "/" + name, "models");
}

std::optional<std::string> VocabPath(const std::string& name) {
  return Present(Folder("VT_VOCABS", "vocabs") + "/" + name, "vocabs");
}

std::string TinyPath(const std::string& name) {
  if (std::string more = DataPath("tiny-more/" + name); fs::exists(more)) return more;
  static const std::string folder = Unpacked(DataPath("tiny.tar.xz"), Folder("VT_TINY", "tiny"));
  return folder + "/tiny/" + name;
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

void BeginTest() { RequiredLookups().in_vain.clear(); }

void NotRun(const std::string& needs) {
  ::testing::Test::RecordProperty("not_run", needs);
  RequiredLookups().kept_from_running.merge(RequiredLookups().in_vain);
}

std::vector<std::string> MissingRequiredFiles() {
  const std::set<std::string>& paths = RequiredLookups().kept_from_running;
  return {paths.begin(), paths.end()};
}

}  // namespace vt::test
