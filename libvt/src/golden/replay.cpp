#include "golden/replay.h"

#include <algorithm>

namespace vt {
namespace {

// Closes its sequence at the end of the scope.
class OpenSequence {
 public:
  OpenSequence(Engine& engine, SequenceId id) : engine_(engine), id_(id) {}
  OpenSequence(const OpenSequence&) = delete;
  OpenSequence& operator=(const OpenSequence&) = delete;
  ~OpenSequence() { engine_.Close(id_); }
  SequenceId id() const { return id_; }

 private:
  Engine& engine_;
  SequenceId id_;
};

}  // namespace

Status ReplayAndContinue(Engine& engine, std::span<const TokenId> prompt, std::size_t chunk,
                         const RowSink& sink, const Chooser& choose) {
  VT_ASSIGN_OR_RETURN(const SequenceId id, engine.Open({}, nullptr));
  const OpenSequence sequence(engine, id);
  const auto most = static_cast<std::size_t>(engine.options().ubatch);
  chunk = chunk == 0 ? most : std::min(chunk, most);
  TokenId next = kNoToken;
  std::size_t begin = 0;
  const LogitSink on_prompt = [&](std::size_t, std::size_t token, std::span<const float> logits) {
    const std::size_t row = begin + token;
    VT_RETURN_IF_ERROR(sink(row, logits));
    if (row + 1 == prompt.size()) next = choose(0, logits);
    return Status();
  };
  for (; begin < prompt.size(); begin += chunk) {
    StepTokens entry;
    entry.sequence = sequence.id();
    entry.tokens = prompt.subspan(begin, std::min(chunk, prompt.size() - begin));
    entry.all_logits = true;
    VT_RETURN_IF_ERROR(engine.Step({&entry, 1}, on_prompt));
  }
  std::size_t index = 0;
  const LogitSink on_answer = [&](std::size_t, std::size_t, std::span<const float> logits) {
    VT_RETURN_IF_ERROR(sink(prompt.size() + index, logits));
    next = choose(index + 1, logits);
    return Status();
  };
  for (; next != kNoToken; ++index) {
    const TokenId fed = next;
    StepTokens entry;
    entry.sequence = sequence.id();
    entry.tokens = {&fed, 1};
    VT_RETURN_IF_ERROR(engine.Step({&entry, 1}, on_answer));
  }
  return {};
}

Status Replay(Engine& engine, std::span<const TokenId> prompt, std::span<const TokenId> answer,
              std::size_t chunk, const RowSink& sink) {
  return ReplayAndContinue(engine, prompt, chunk, sink,
                           [&](std::size_t index, std::span<const float>) {
                             return index + 1 < answer.size() ? answer[index] : kNoToken;
                           });
}

}  // namespace vt
