// What a check found, for machines (vt.golden-report/1), people, JUnit readers and GitHub.
// docs/json/vt.golden-report.md describes the document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "golden/check.h"
#include "golden/compare.h"
#include "golden/golden.h"

namespace vt {

inline constexpr std::string_view kGoldenReportSchema = "vt.golden-report/1";

struct GoldenReport {
  std::string golden_file;
  GoldenModel golden_model;
  GoldenOracle oracle;
  std::string source = "model";  // or "run": a finished one
  std::string model_file;        // empty: unknown
  std::vector<DigestCheck> digests;
  CheckLimits limits;
  std::string settings_json = "null";  // of the engine
  std::vector<CaseReport> cases;
  std::string skipped;  // why nothing ran, where that was allowed
  std::vector<std::string> notes;
  std::string locate_json = "null";      // what --locate found
  std::string invariance_json = "null";  // what --invariance found
  std::string more_text;                 // the same for people
  bool variant = false;                  // --invariance found a difference
};

struct ReportCounts {
  std::size_t cases = 0, cases_same = 0, cases_with_ties = 0, cases_wrong = 0, cases_skipped = 0;
  std::size_t tokens = 0, same = 0, ties = 0, wrong = 0, unchecked = 0;
};
ReportCounts Count(const GoldenReport& report);

// "same", "near-ties" (allowed ones), "wrong", "skipped" (as was allowed), "nothing" (no case was
// run). A case that was skipped makes it wrong.
std::string_view VerdictOf(const GoldenReport& report);
int ExitCodeOf(const GoldenReport& report);  // 0, 1, 77

void WriteReportBody(const GoldenReport& report, JsonWriter& json);

// "name: 32/32 same, ..." and, below it, what is not the same. Lines of at most about 100 columns.
std::string ReportText(const GoldenReport& report);
// One test suite, one test case for each case.
std::string JUnitText(const GoldenReport& report);
// The suite of a check that could not run.
std::string JUnitFailure(std::string_view golden_file, const Status& status);
// "::error title=...::..." lines for what is wrong.
std::string GithubText(const GoldenReport& report);
std::string GithubFailure(const Status& status);  // of a check that could not run

// The name that reports use: the model's file without folder and ending.
std::string ReportName(const GoldenReport& report);

}  // namespace vt
