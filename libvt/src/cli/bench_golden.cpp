#include "cli/bench_golden.h"

#include "base/json.h"
#include "golden/check.h"

namespace vt::cli {

Result<std::string> GoldenFailure(const std::string& path, const OpenedModel& model,
                                  const EngineOptions& options, Console& console) {
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, console.interrupted_flag()));
  const Result<Golden> golden = ParseGolden(text);
  if (!golden.ok()) return golden.status().Annotate("--golden " + ValidUtf8(path));
  if (golden->cases.empty()) {
    return InvalidError("--golden " + ValidUtf8(path) + ": has no case, and so proves nothing");
  }
  FileDigests digests(model.file);
  VT_RETURN_IF_ERROR(CheckDigests(golden->model, CompareDigests(golden->model, digests)));
  VT_RETURN_IF_ERROR(CheckGoldenIds(*golden, model.spec->vocab));
  LoadControl control;
  control.cancel = &console.interrupted_flag();
  VT_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Load(model.file, *model.spec, EngineOptionsFor(*golden, options), control));
  CheckWatch watch;
  watch.cancel = &console.interrupted_flag();
  watch.progress = [&](std::size_t done, std::size_t total) {
    console.Progress("golden", done, total);
  };
  VT_ASSIGN_OR_RETURN(const std::vector<CaseReport> cases,
                      CheckCases(*golden, *engine, model.tokenizer ? &*model.tokenizer : nullptr,
                                 CheckLimits(), watch));
  console.ClearProgress();
  std::string failure;
  for (const CaseReport& one : cases) {
    if (one.state == CaseState::kSame) continue;
    failure.append(failure.empty() ? "" : "; ").append("case ").append(one.name).append(": ");
    failure.append(NameOf(one.state)).append(", ").append(std::to_string(one.same));
    failure.append(" of ").append(std::to_string(one.tokens)).append(" tokens same");
  }
  return failure;
}

}  // namespace vt::cli
