// The subcommands of vt-golden. Each gives its exit code, or why it could not answer.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/golden_options.h"
#include "cli/model_prompts.h"
#include "golden/check.h"
#include "golden/golden.h"
#include "golden/report.h"
#include "vt/engine.h"
#include "vt/status.h"

namespace vt::cli {

struct GoldenContext {
  GoldenOptions& options;
  Console& console;
  const std::atomic<bool>& interrupted;
};

Result<int> RunGoldenRecord(GoldenContext& context);
Result<int> RunGoldenCheck(GoldenContext& context);
Result<int> RunGoldenDiff(GoldenContext& context);
Result<int> RunGoldenImport(GoldenContext& context);
Result<int> RunGoldenSelfTest(GoldenContext& context);

// Reads and parses; errors name the file.
Result<Golden> ReadGoldenFile(const std::string& path, const std::atomic<bool>& interrupted);
// "schema", "tool" and the body, with a newline.
std::string GoldenDocument(const Golden& golden);
// To a file, whole or not at all, or to stdout for "-".
Status WriteGoldenFile(const std::string& path, const Golden& golden, Console& console);

// The report as the flags ask: JSON, text, JUnit, annotations. Gives the exit code.
Result<int> WriteGoldenReport(const GoldenReport& report, GoldenContext& context);

// The engine's options as the flags of `run`, or its plan, say; 0 as context: as vt-run chooses.
Result<EngineOptions> GoldenEngineOptions(RunOptions run, const OpenedModel& model,
                                          const std::atomic<bool>& interrupted);
// Loads with a progress bar.
Result<std::unique_ptr<Engine>> LoadGoldenEngine(const OpenedModel& model,
                                                 const EngineOptions& options,
                                                 const GoldenContext& context);
// The settings of an engine as a JSON object.
std::string EngineSettingsJson(const Engine& engine);
// Cancellation and a progress bar for runs of cases.
CheckWatch WatchOf(const GoldenContext& context, const char* label);

const Tokenizer* TokenizerOf(const OpenedModel& model);

}  // namespace vt::cli
