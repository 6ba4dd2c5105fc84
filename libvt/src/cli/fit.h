// vt-fit from its arguments to its exit code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "place/fit_document.h"

namespace vt::cli {

// `args` are the arguments without the program's name. Reads stdin, writes stdout and stderr,
// installs signal handlers; returns the exit code.
int RunFitTool(std::span<const std::string_view> args);

// Answers as text of at most 80 columns.
std::string FitTable(const FitModel& model, const Fit& fit, const FitExtras& extras);
std::string ProfilesTable(const FitModel& model, const std::vector<ProfileFit>& fits);

}  // namespace vt::cli
