// Where tests find their data, and how a test says that a file it needs is not on this machine.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace vt::test {

// tests/data/<name> of the source tree; always there.
std::string DataPath(const std::string& name);

// A model file (VT_MODELS, default ~/.cache/vt/models) or vocabulary (VT_VOCABS, default
// ~/.cache/vt/vocabs); nullopt when it is not on this machine. Where VT_REQUIRE_FILES holds
// "models" or "vocabs" (or "models,vocabs"), a program of which a test was not run for want of that
// kind fails at its end.
std::optional<std::string> ModelPath(const std::string& name);
std::optional<std::string> VocabPath(const std::string& name);

// A file of tests/data/tiny-more or of tiny.tar.xz, unpacked once to ~/.cache/vt/tiny (or VT_TINY).
std::string TinyPath(const std::string& name);

std::string ReadFile(const std::string& path);
// A fresh folder for one test, removed at exit.
std::string TempDir();

}  // namespace vt::test

// Leaves the test, which is then counted apart: "not run: needs X".
#define VT_NOT_RUN(needs)      \
  do {                         \
    ::vt::test::NotRun(needs); \
    return;                    \
  } while (false)

namespace vt::test {
void BeginTest();  // called by the program before each test
void NotRun(const std::string& needs);
// The paths of required files whose absence kept a test from running, in name order.
std::vector<std::string> MissingRequiredFiles();
}  // namespace vt::test
