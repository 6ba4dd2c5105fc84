#include "cli/draft_option.h"

namespace vt::cli {
namespace {

// A lookup's guesses cost nothing to make; each of a model's is a step of that model.
constexpr std::int64_t kLookupMost = 8;  // and kModelGuesses

}  // namespace

Result<DraftOption> DraftOption::Open(RunOptions* options, const OpenedModel& target) {
  DraftOption draft;
  if (!options->draft) return draft;
  VT_RETURN_IF_ERROR(CanTakeBack(*target.spec).Annotate("--draft"));
  if (options->draft_max == 0) {
    options->draft_max = options->looks_up() ? kLookupMost : kModelGuesses;
  }
  if (options->looks_up()) return draft;
  const std::string subject = "--draft " + *options->draft;
  Result<OpenedModel> model = OpenModel(*options->draft, true);
  if (!model.ok()) return model.status().Annotate("--draft");
  VT_RETURN_IF_ERROR(CanTakeBack(*model->spec).Annotate(subject));
  VT_RETURN_IF_ERROR(
      CheckSameVocabulary(model->file, *model->spec, target.file, *target.spec).Annotate(subject));
  draft.model_.emplace(std::move(*model));
  return draft;
}

Status DraftOption::Load(const RunOptions& options, const Engine& target,
                         const LoadControl& control) {
  if (!options.draft) return {};
  const auto most = static_cast<std::size_t>(options.draft_max);
  if (!model_) {
    drafter_ = std::make_unique<PromptLookup>(most, static_cast<std::size_t>(options.draft_match));
    return {};
  }
  VT_ASSIGN_OR_RETURN(
      std::unique_ptr<ModelDraft> loaded,
      ModelDraft::Load(model_->file, *model_->spec, target, most, control, options.draft_device));
  engine_ = &loaded->engine();
  drafter_ = std::move(loaded);
  return {};
}

}  // namespace vt::cli
