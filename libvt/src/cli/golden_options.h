// What vt-golden was asked for: its subcommands, their options and flags, and the rules between
// flags.
//
// Nothing here touches a file or a device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "cli/run_options.h"
#include "golden/compare.h"
#include "vt/status.h"

namespace vt::cli {

enum class GoldenCommand { kNone, kRecord, kCheck, kDiff, kImport, kSelfTest };

struct GoldenOptions {
  GoldenCommand command = GoldenCommand::kNone;
  bool help = false;
  bool version = false;

  // Model, prompts and engine, by the flags of vt-run.
  RunOptions run;

  std::string golden_file;         // check, self-test; "-": stdin
  std::vector<std::string> files;  // arguments that are no flags: diff A B, check's run, import
  std::string out = "-";           // record, import
  std::int64_t top_k = 40;         // record: logits kept of a row; 0: all
  // record: layers to keep checkpoints of; empty: all of them where `checkpoints` is set.
  std::vector<int> checkpoint_layers;
  bool checkpoints = false;

  CheckLimits limits;
  bool any_digest = false;
  bool allow_skip = false;
  std::vector<std::string> cases;  // only these; empty: all
  std::string junit_file;
  bool github = false;
  bool locate = false;
  std::string against;
  double tolerance = 1e-3;
  bool invariance = false;

  std::string from;  // import
  std::string oracle_version;

  bool json = false;   // as given; GoldenJsonWanted decides
  bool table = false;  // as given
  bool quiet = false;

  GivenFlags given;
};

// The flags of the subcommand in `options`, bound to it; it must outlive them.
std::vector<Flag> GoldenFlags(GoldenOptions* options);

// The flags of an engine that vt-run has too, bound to `run`.
std::vector<Flag> GoldenEngineFlags(RunOptions* run);

// Reads the subcommand (the first argument) and applies the rest. `table` becomes its flags.
// kInvalid names what is wrong.
Status ParseGoldenArgs(std::span<const std::string_view> args, GoldenOptions* options,
                       std::vector<Flag>* table);

// Whether the answer is a document rather than text: as the flags say, else whether stdout is no
// terminal.
bool GoldenJsonWanted(const GoldenOptions& options);

// "device=sim:0 kernel=matmul=cpu.scalar.f32 exact": flags of an engine, or another model
// ("model=good.gguf"), without their dashes, separated by blanks or commas, on top of `base`.
Result<RunOptions> ParseAgainst(std::string_view text, const RunOptions& base);

// The help of the subcommand, at most 24 lines.
std::string GoldenHelp(const GoldenOptions& options, std::span<const Flag> table);

}  // namespace vt::cli
