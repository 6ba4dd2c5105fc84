// The answers of vt-caps as text for people, at most 80 columns wide.
#pragma once

#include <string>

#include "caps/caps_diff.h"
#include "caps/caps_report.h"

namespace vt::cli {

// Devices, backends, and the kernels of each op. Rows of kinds that no device has are counted, not
// listed, unless the report was asked for their kind.
std::string ReportTable(const CapsReport& report);

// What was run of each op, and what went wrong.
std::string VerifyTable(const CapsReport& report);

// `a` and `b` name the documents.
std::string DiffTable(const CapsDiff& diff, const std::string& a, const std::string& b);

}  // namespace vt::cli
