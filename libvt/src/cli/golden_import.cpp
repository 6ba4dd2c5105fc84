// vt-golden import: what another program answered, as a golden.
#include <optional>

#include "base/json.h"
#include "cli/golden_commands.h"
#include "golden/import.h"
#include "golden/record.h"

namespace vt::cli {

Result<int> RunGoldenImport(GoldenContext& context) {
  const GoldenOptions& options = context.options;
  const std::string& path = options.files[0];
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, context.interrupted));
  std::optional<OpenedModel> model;
  if (!options.run.model.empty()) {
    VT_ASSIGN_OR_RETURN(model, OpenModel(options.run.model, true));
  }
  Result<Golden> golden = ImportGolden(options.from, text, model ? TokenizerOf(*model) : nullptr);
  if (!golden.ok()) {
    return golden.status().Annotate(path == "-" ? "stdin" : ValidUtf8(path));
  }
  if (model) {
    const Status ids = CheckGoldenIds(*golden, model->spec->vocab);
    if (!ids.ok()) return ids.Annotate(ValidUtf8(path));
    golden->model = DescribeModel(model->file, model->spec->vocab);
  } else {
    context.console.Note("without --model the golden names no model, and check compares none");
  }
  if (!options.oracle_version.empty()) golden->oracle.version = options.oracle_version;
  VT_RETURN_IF_ERROR(WriteGoldenFile(options.out, *golden, context.console));
  return 0;
}

}  // namespace vt::cli
