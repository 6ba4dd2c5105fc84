// Where tests find their data, and how a test says that a file it needs is not on this machine.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace vt::test {

// tests/data/<name> of the source tree; always there.
std::string DataPath(const std::string& name);

// A model file (VT_MODELS, default ~/.cache/vt/models) or vocabulary (VT_VOCABS, default
// ~/.cache/vt/vocabs); nullopt when it is not on this machine.
std::optional<std::string> ModelPath(const std::string& name);
std::optional<std::string> VocabPath(const std::string& name);

// The tests/data/tiny models, unpacked once from tiny.tar.xz (VT_TINY overrides the folder).
std::string TinyPath(const std::string& name);

std::string ReadFile(const std::string& path);
// A fresh folder for one test, removed at exit.
std::string TempDir();

}  // namespace vt::test

// Leaves the test, which is reported and counted apart as "not run: needs X". With
// VT_REQUIRE_FILES=1 in the environment it is a failure.
#define VT_NOT_RUN(needs)      \
  do {                         \
    ::vt::test::NotRun(needs); \
    return;                    \
  } while (false)

namespace vt::test {
void NotRun(const std::string& needs);
}
