// vt-golden diff: two goldens.
#include "cli/golden_commands.h"
#include "cli/version.h"
#include "golden/diff.h"

namespace vt::cli {

Result<int> RunGoldenDiff(GoldenContext& context) {
  const GoldenOptions& options = context.options;
  VT_ASSIGN_OR_RETURN(const Golden a, ReadGoldenFile(options.files[0], context.interrupted));
  VT_ASSIGN_OR_RETURN(const Golden b, ReadGoldenFile(options.files[1], context.interrupted));
  GoldenReport report;
  report.golden_file = options.files[0];
  report.golden_model = a.model;
  report.oracle = a.oracle;
  report.source = "golden";
  report.model_file = options.files[1];
  report.limits = options.limits;
  const std::pair<const char*, std::optional<std::string> GoldenModel::*> digests[] = {
      {"digest", &GoldenModel::digest},
      {"content_digest", &GoldenModel::content_digest},
      {"sha256", &GoldenModel::sha256}};
  for (const auto& [kind, member] : digests) {
    if (a.model.*member && b.model.*member) {
      report.digests.push_back({kind, *(a.model.*member), *(b.model.*member)});
    }
  }
  for (const DigestCheck& one : report.digests) {
    if (!one.same()) report.notes.push_back("the goldens are of two models: " + one.kind);
  }
  report.cases = DiffGoldens(a, b, options.limits);
  return WriteGoldenReport(report, context);
}

}  // namespace vt::cli
