// What vt-run was asked for: its options, the table of its flags, and the rules between flags.
//
// Nothing here touches a file or a device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags.h"
#include "vt/sampler.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt::cli {

// What the program does, one bit each so that a flag can name all it has an effect in.
enum RunMode : unsigned {
  kGenerate = 1u << 0,
  kDumpTokens = 1u << 1,
  kDumpPrompt = 1u << 2,
  kDescribe = 1u << 3,
  kListArchs = 1u << 4,
  kHelp = 1u << 5,
  kVersion = 1u << 6,
};

inline constexpr std::string_view kPromptLookup = "prompt-lookup";  // a value of --draft

struct RunOptions {
  RunMode mode = kGenerate;

  std::string model;
  std::optional<std::string> prompt;
  std::string prompt_file;  // "-": stdin
  std::optional<std::vector<TokenId>> tokens;
  bool no_bos = false;
  bool special = false;

  bool chat = false;
  std::optional<std::string> system;
  std::string messages_file;
  std::string tools_file;
  std::string chat_template_file;
  std::string date;                 // as given; empty: the clock
  std::optional<std::int64_t> now;  // date as seconds since 1970, as if it were UTC
  std::optional<std::string> bos_text;
  std::optional<std::string> eos_text;

  std::int64_t max_tokens = 128;  // -1: until the context is full
  SamplerOptions sampler;
  std::vector<std::string> stop;
  std::optional<std::string> grammar;      // a file's name, or the grammar itself
  std::optional<std::string> json_schema;  // the same

  std::string device = "cpu";
  std::string plan;                    // vt.plan/1; "-": stdin
  std::vector<std::string> sim_files;  // vt.profile/1 of sim:0, ..
  std::int64_t context = 0;            // 0: chosen from the model
  std::int64_t threads = 0;            // 0: one per core
  std::int64_t ubatch = 512;
  std::int64_t sequences = 0;  // 0: chosen from the input
  std::string kv_type = "f16";
  bool exact = false;
  bool force = false;  // a plan that does not hold
  bool check = false;
  bool prefix_reuse = true;
  std::string tier = "reference";
  std::string isa;                             // empty: all the machine has
  std::map<std::string, std::string> kernels;  // op -> kernel
  std::optional<std::string> draft;            // kPromptLookup or a model file
  std::string draft_device;                    // of a draft model; empty: where the output is
  std::int64_t draft_max = 0;                  // 0: chosen by the kind of draft
  std::int64_t draft_match = 2;                // of a lookup

  bool json = false;
  bool jsonl = false;
  std::int64_t logprobs = 0;
  std::string dump_logits;
  bool measure = false;
  std::string calibrate_file;  // vt.calibration/1
  bool explain = false;
  bool quiet = false;

  std::string plan_hash;  // of the plan that settled the run; empty: none

  // Filled by ParseRunFlags.
  GivenFlags given;
  // Who chose a setting that no flag gave, where it is not the program's own default: flag name ->
  // "model", "machine", "input", "plan".
  std::map<std::string_view, std::string_view> origins;

  // The prompt goes through a chat template, or (--jsonl) may do so.
  bool may_chat() const { return chat || !messages_file.empty() || jsonl; }
  bool looks_up() const { return draft == kPromptLookup; }
};

// The table of all flags, bound to `options`, which must outlive it.
std::vector<Flag> RunFlags(RunOptions* options);

// Applies the arguments to `options` and checks the rules between flags: contradictions, and flags
// that would have no effect. kInvalid names the flags.
Status ParseRunFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                     RunOptions* options);

// kInvalid when an option of one generation was given and has no effect on it. `given` are flag
// names; `prefix` is "--", or "/" where they were given as JSON keys ('_' for '-'), which the error
// then points at.
Status CheckEffective(const SamplerOptions& sampler, const GivenFlags& given,
                      std::string_view prefix);

// "1,2,3", spaces allowed.
Result<std::vector<TokenId>> ParseTokenList(std::string_view text);
// "YYYY-MM-DD" or "YYYY-MM-DDTHH:MM:SS" as seconds since 1970, as if it were UTC.
Result<std::int64_t> ParseDate(std::string_view text);

std::string RunHelp(std::span<const Flag> table);

}  // namespace vt::cli
