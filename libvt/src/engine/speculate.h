// Speculative decoding: guesses at the tokens that come next, which the model then checks many at a
// time, in one step.
//
// Goal: the answer is the one without guesses. Each token is sampled from the model's own logits
// with the same draws as ever, and a guess counts only where it equals the token sampled; so a
// drafter decides how fast an answer comes, never which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vt/engine.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

struct DraftWork {
  std::size_t request = 0;          // whose tokens they are
  std::span<const TokenId> tokens;  // prompt and answer; longer at every call for a request
  std::size_t most = 0;             // guesses that are of use
  std::vector<TokenId> draft;       // the guesses: what follows `tokens`, likeliest path
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Most guesses for a sequence and step.
  virtual std::size_t most() const = 0;
  // Fills the drafts, which are empty. It may leave them so.
  virtual Status Draft(std::span<DraftWork> work) = 0;
  // The request has ended.
  virtual void End(std::size_t request) { static_cast<void>(request); }
};

// What followed the last time that the sequence's newest tokens occurred in it. Of several
// occurrences, the one with the most tokens before it alike, then the latest; `min_match` tokens at
// least must be. A guess may run into guesses: "a b a b" goes on as "a b a b a b ...".
class PromptLookup : public Drafter {
 public:
  PromptLookup(std::size_t most, std::size_t min_match) : most_(most), min_match_(min_match) {}
  std::size_t most() const override { return most_; }
  Status Draft(std::span<DraftWork> work) override;

 private:
  std::size_t most_;
  std::size_t min_match_;  // at least 1
};

inline constexpr std::int64_t kModelGuesses = 4;  // of a step, where the user does not say

// Options of a model whose steps check up to `most` guesses for each sequence: a row of logits for
// each of them and for the newest token, and as many tokens to take back.
void AllowGuesses(std::int64_t most, EngineOptions* options);

// Options of a draft model's engine beside one of `target`, on a device of its own.
EngineOptions DraftOptions(const EngineOptions& target, std::string device);

// A smaller model with the same vocabulary, whose likeliest tokens are the guesses. All sequences
// that want some are guessed at together.
class ModelDraft : public Drafter {
 public:
  // Runs with the options of `target`, whole on one device: `device`, or, where that is empty, the
  // one of the target's output. `file` must outlive the drafter. Engine::Load's errors, with "draft
  // model: " before them; kNoMemory when it does not fit beside the target; CanTakeBack's.
  static Result<std::unique_ptr<ModelDraft>> Load(const GgufFile& file, const ModelSpec& spec,
                                                  const Engine& target, std::size_t most,
                                                  const LoadControl& control = {},
                                                  const std::string& device = {});
  std::size_t most() const override { return most_; }
  Status Draft(std::span<DraftWork> work) override;
  void End(std::size_t request) override;

  const Engine& engine() const { return *engine_; }

 private:
  ModelDraft(std::unique_ptr<Engine> engine, std::size_t most)
      : engine_(std::move(engine)), most_(most) {}
  struct Fed {
    SequenceId sequence = 0;
    std::vector<TokenId> tokens;  // in the engine
  };
  Result<Fed*> Open(const DraftWork& work);
  Status CatchUp(std::span<DraftWork> work, std::span<Fed* const> fed);
  Status GoOn(std::span<DraftWork> work, std::span<Fed* const> fed);

  std::unique_ptr<Engine> engine_;
  std::size_t most_;
  std::map<std::size_t, Fed> fed_;  // by request
};

// Whether tokens can be taken back from a sequence of this model, which is what guesses need.
// kUnsupported: it has a recurrent state.
Status CanTakeBack(const ModelSpec& spec);

// kInvalid unless both files have the same vocabulary: as many tokens, with the same texts. Names
// the first difference, with both values.
Status CheckSameVocabulary(const GgufFile& draft_file, const ModelSpec& draft,
                           const GgufFile& target_file, const ModelSpec& target);

// How many guesses each of the sequences gets that could use `wanted` of them, when all together
// may have `room`: as equal shares as can be.
std::vector<std::size_t> ShareDrafts(std::span<const std::size_t> wanted, std::size_t room);

}  // namespace vt
