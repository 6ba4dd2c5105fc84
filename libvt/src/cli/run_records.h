// The records of vt.run/1, each one JSON line without its newline. docs/json/vt.run.md describes
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/model_prompts.h"
#include "cli/run_options.h"
#include "vt/engine.h"
#include "vt/generate.h"

namespace vt::cli {

// Memory of this process as the operating system counts it, in bytes.
struct ResidentMemory {
  std::uint64_t peak_bytes = 0;       // the most that was resident at once
  std::uint64_t anonymous_bytes = 0;  // now, not backed by files
  std::uint64_t file_bytes = 0;       // now, pages of mapped files
};
ResidentMemory MeasureResidentMemory();

// `draft_model` is null without one, `prompt` with --jsonl.
std::string StartRecord(const RunOptions& options, std::span<const Flag> table,
                        const OpenedModel& model, const OpenedModel* draft_model,
                        const Engine& engine, const GenerationRequest* prompt, std::size_t prompts);

std::string TokenRecord(std::size_t index, const GeneratedToken& token, bool has_text,
                        bool has_logprobs);

struct RunTimes {
  std::uint64_t load_ns = 0;
  std::uint64_t total_ns = 0;  // from the start of the program
};
// What a result's record can tell.
struct ResultForm {
  bool has_text = true;  // there is a tokenizer
  bool drafts = false;   // there is a drafter
};
// `result` is null with --jsonl; `draft`, the draft model's engine, without one; `resident` where
// it was not asked for.
std::string EndRecord(const GenerationResult* result, const ResultForm& form, const RunTimes& times,
                      const Engine& engine, const Engine* draft, const ResidentMemory* resident);
// The memory of both engines; rows of the second one begin with "draft.".
std::vector<MemoryRow> MemoryOf(const Engine& engine, const Engine* draft);

// The line of a --jsonl prompt; `logprobs` of its tokens, null when not asked for.
std::string ResultRecord(std::size_t index, const PromptItem& item, const GenerationResult& result,
                         const ResultForm& form, const std::vector<GeneratedToken>* logprobs);
std::string ErrorResultRecord(std::size_t index, const PromptItem& item);

// Tokens a second, nothing where no time was measured.
std::optional<double> Rate(std::size_t tokens, std::uint64_t ns);

}  // namespace vt::cli
