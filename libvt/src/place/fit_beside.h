// What runs beside a model and takes memory with it: a draft model, which has an engine of its own,
// and the projector that makes a model's inputs of pictures or sound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/speculate.h"
#include "plan/memory_plan.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::string_view kDraftRow = "draft";
inline constexpr std::string_view kProjectorRow = "mmproj";

// Files and specs must outlive the question. A device that is empty is the one of the model's
// output.
struct DraftBeside {
  const GgufFile* file = nullptr;
  const ModelSpec* spec = nullptr;
  std::string device = {};
  std::int64_t guesses = kModelGuesses;  // most of a sequence and step
};
struct ProjectorBeside {
  const GgufFile* file = nullptr;
  std::string device = {};
};
struct FitBeside {
  std::optional<DraftBeside> draft = {};
  std::optional<ProjectorBeside> projector = {};
};

// As vt-run judges a draft: kUnsupported: tokens cannot be taken back from one of the models.
// kInvalid: another vocabulary. Of headers that tell no texts of tokens, their number counts.
Status CheckDraft(const GgufFile& draft_file, const ModelSpec& draft, const GgufFile& file,
                  const ModelSpec& spec);

// kInvalid: the file is no projector.
Status CheckProjector(const GgufFile& file);

// What one device holds of what runs beside the model.
struct BesideRow {
  std::string device;
  std::string row;  // kDraftRow, kProjectorRow
  std::uint64_t bytes = 0;
  std::uint64_t mapped_bytes = 0;  // of them, pages of the file
  std::string how;                 // what it consists of
  std::optional<std::uint64_t> disk_bytes = {};
  std::string largest = {};  // the largest single allocation: "draft.kv.full"
  std::uint64_t largest_bytes = 0;
};

// Of the draft, all rows of its engine's plan on a device, `draft` (null: none); of the projector,
// all its tensors as they are. `home`: where the model's output is.
std::vector<BesideRow> RowsBeside(const FitBeside& beside, const EnginePlan* draft,
                                  const std::string& home);

}  // namespace vt
