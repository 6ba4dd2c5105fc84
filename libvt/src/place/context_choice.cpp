#include "place/context_choice.h"

#include <algorithm>

namespace vt {

std::string ReducedText(const ContextChoice& choice) {
  if (choice.why.empty()) return {};
  return "context reduced from " + std::to_string(choice.from) + " to " +
         std::to_string(choice.to) + ": " + choice.why;
}

void WriteContextChoice(JsonWriter& json, const ContextChoice& choice) {
  json.BeginObject().Field("from", choice.from).Field("to", choice.to).Key("why");
  if (choice.why.empty()) {
    json.Null();
  } else {
    json.Value(choice.why);
  }
  json.EndObject();
}

std::uint64_t MostPositions(const ModelSpec& spec) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 31) - kContextBlock;
  return spec.position_embedding ? std::min(kMost, spec.context_train) : kMost;
}

std::uint64_t TrainedContext(const ModelSpec& spec) {
  constexpr std::uint64_t kUntold = 4096;
  return std::min(spec.context_train > 0 ? spec.context_train : kUntold, MostPositions(spec));
}

}  // namespace vt
