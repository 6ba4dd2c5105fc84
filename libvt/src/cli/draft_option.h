// --draft: who guesses at the tokens to come.
#pragma once

#include <memory>
#include <optional>

#include "cli/model_prompts.h"
#include "cli/run_options.h"
#include "engine/speculate.h"
#include "vt/status.h"

namespace vt::cli {

// The guesser of a run, and the file of its model.
class DraftOption {
 public:
  // What can be said before weights are loaded; fills in options->draft_max. kUnsupported: a model
  // that cannot take tokens back. kInvalid: another vocabulary than `target`'s. OpenModel's errors.
  // All begin with the flag.
  static Result<DraftOption> Open(RunOptions* options, const OpenedModel& target);

  // Loads the draft model, if there is one, beside the target.
  Status Load(const RunOptions& options, const Engine& target, const LoadControl& control);

  Drafter* drafter() const { return drafter_.get(); }  // null: no --draft, or not loaded
  const OpenedModel* model() const { return model_ ? &*model_ : nullptr; }
  const Engine* engine() const { return engine_; }  // the draft model's; null: there is none

 private:
  std::optional<OpenedModel> model_;
  std::unique_ptr<Drafter> drafter_;
  const Engine* engine_ = nullptr;
};

}  // namespace vt::cli
