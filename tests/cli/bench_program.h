// vt-bench and a model for it: what tests of its commands share.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"

namespace vt::test {

Command BenchCommand(const std::vector<std::string>& args);
Outcome RunBenchProgram(const std::vector<std::string>& args);
// A model made once, whose vocabulary has words.
const std::string& TinyModel();
// A run of TinyModel that takes milliseconds, and `more` arguments.
std::vector<std::string> QuickRun(const std::vector<std::string>& more);
// The only line of stdout; fails the test unless the exit code is 0 and the schema fits.
nlohmann::json Document(const Outcome& outcome, const std::string& schema);
void ExpectError(const Outcome& outcome, int exit_code, const std::string& says);

}  // namespace vt::test
