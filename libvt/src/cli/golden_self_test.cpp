// vt-golden self-test: damage that check must notice.
#include <cstdlib>

#include "base/text_layout.h"
#include "cli/golden_commands.h"
#include "cli/version.h"
#include "golden/self_test.h"

namespace vt::cli {
namespace {

std::string Table(const std::vector<SelfTestRow>& rows, std::size_t missed) {
  std::string text;
  for (const SelfTestRow& row : rows) {
    text += Hanging(row.noticed ? "noticed" : "MISSED", 9,
                    row.what + ": " + (row.noticed ? Printable(row.how) : "check stays green"));
  }
  return text + "vt-golden self-test: " + std::to_string(rows.size() - missed) + " of " +
         std::to_string(rows.size()) + " kinds of damage noticed\n";
}

std::string Document(const std::vector<SelfTestRow>& rows, std::size_t missed,
                     const GoldenOptions& options) {
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.golden-self-test/1");
  WriteTool(json);
  json.Field("golden", options.golden_file).Field("model", options.run.model);
  json.Key("rows").BeginArray();
  for (const SelfTestRow& row : rows) {
    json.BeginObject().Field("what", row.what).Field("target", row.target);
    json.Field("noticed", row.noticed).Key("how");
    if (row.how.empty()) {
      json.Null();
    } else {
      json.Value(row.how);
    }
    json.EndObject();
  }
  json.EndArray().Field("count", rows.size()).Field("missed", missed);
  return json.EndObject().Take();
}

}  // namespace

Result<int> RunGoldenSelfTest(GoldenContext& context) {
  const GoldenOptions& options = context.options;
  VT_ASSIGN_OR_RETURN(const Golden golden,
                      ReadGoldenFile(options.golden_file, context.interrupted));
  VT_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(options.run.model, true));
  SelfTestOptions test;
  VT_ASSIGN_OR_RETURN(test.engine, GoldenEngineOptions(options.run, model, context.interrupted));
  test.engine = EngineOptionsFor(golden, std::move(test.engine));
  test.limits = options.limits;
  test.any_digest = options.any_digest;
  test.cancel = &context.interrupted;
  test.progress = [&](std::size_t done, std::size_t total) {
    context.console.Progress("spoiling", done, total);
  };
  const char* temp = std::getenv("TMPDIR");
  VT_ASSIGN_OR_RETURN(const std::vector<SelfTestRow> rows,
                      SelfTest(golden, model.file, test, temp && *temp ? temp : "/tmp"));
  context.console.ClearProgress();
  std::size_t missed = 0;
  for (const SelfTestRow& row : rows) missed += row.noticed ? 0 : 1;
  const std::string table = Table(rows, missed);
  if (!GoldenJsonWanted(options)) {
    VT_RETURN_IF_ERROR(context.console.Write(table));
  } else {
    VT_RETURN_IF_ERROR(context.console.WriteLine(Document(rows, missed, options)));
    if (!options.quiet) context.console.Print(table);
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace vt::cli
