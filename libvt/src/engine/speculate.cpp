#include "engine/speculate.h"

#include <algorithm>

#include "base/json_writer.h"
#include "plan/memory_plan.h"

namespace vt {
namespace {

// Longer matches than this are as good as one another.
constexpr std::size_t kLongestMatch = 32;

// Where the tokens begin that followed the best earlier occurrence of the newest tokens; 0: there
// was none.
std::size_t FindEarlier(std::span<const TokenId> tokens, std::size_t min_match) {
  std::size_t longest = std::max<std::size_t>(min_match, 1) - 1;
  std::size_t best = 0;
  for (std::size_t end = tokens.size() - 1; end > longest; --end) {
    const std::size_t most = std::min(end, kLongestMatch);
    std::size_t match = 0;
    while (match < most && tokens[end - 1 - match] == tokens[tokens.size() - 1 - match]) ++match;
    if (match <= longest) continue;
    longest = match;
    best = end;
    if (match == kLongestMatch) break;
  }
  return best;
}

TokenId Likeliest(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::string Quoted(std::string_view text) {
  return std::string("\"").append(ValidUtf8(text)).append("\"");
}

// kNoMemory when the plan does not fit in what the target, of which `rows` are, leaves of its
// device. The target's own pages may not have been touched yet, so the machine's figure of now
// would say too much.
Status CheckFitsBeside(const EnginePlan& plan, DeviceInfo device, std::span<const MemoryRow> rows) {
  const MemoryFact usable = device.memory_usable();
  if (!usable.bytes) return {};
  std::uint64_t taken = 0;
  for (const MemoryRow& row : rows) {
    if (row.how != "mapped" && row.device == device.id) taken += row.allocated_bytes;
  }
  device.memory_available = {*usable.bytes - std::min(*usable.bytes, taken),
                             usable.source + " less the model's own"};
  device.memory_reserve = {};
  return CheckFits(plan, device);
}

}  // namespace

Status CanTakeBack(const ModelSpec& spec) {
  if (!spec.recurs()) return {};
  return UnsupportedError("architecture \"" + spec.architecture +
                          "\": its recurrent state cannot take back tokens that were guessed "
                          "wrong");
}

Status CheckSameVocabulary(const GgufFile& draft_file, const ModelSpec& draft,
                           const GgufFile& target_file, const ModelSpec& target) {
  constexpr std::string_view kKey = "tokenizer.ggml.tokens";
  const std::string advice = "; a draft model must have the model's own vocabulary";
  if (draft.vocab != target.vocab) {
    return InvalidError("vocabulary: has " + std::to_string(draft.vocab) + " tokens, the model's " +
                        std::to_string(target.vocab) + advice);
  }
  const GgufValue* ours = draft_file.Find(kKey);
  const GgufValue* theirs = target_file.Find(kKey);
  const bool has_texts = ours && ours->strings;
  if (has_texts != (theirs && theirs->strings)) {
    return InvalidError("vocabulary: has " + std::string(has_texts ? "" : "no ") +
                        "token texts, the model's has " + (has_texts ? "none" : "some") + advice);
  }
  if (!has_texts) return {};
  const std::vector<std::string_view>& a = *ours->strings;
  const std::vector<std::string_view>& b = *theirs->strings;
  if (a.size() != b.size()) {
    return InvalidError("vocabulary: has the texts of " + std::to_string(a.size()) +
                        " tokens, the model's of " + std::to_string(b.size()) + advice);
  }
  const auto parting = std::mismatch(a.begin(), a.end(), b.begin());
  if (parting.first == a.end()) return {};
  return InvalidError("vocabulary: token " + std::to_string(parting.first - a.begin()) + " is " +
                      Quoted(*parting.first) + ", the model's " + Quoted(*parting.second) + advice);
}

void AllowGuesses(std::int64_t most, EngineOptions* options) {
  options->tentative = most;
  options->logit_rows = std::min(options->ubatch, options->sequences * (1 + most));
}

EngineOptions DraftOptions(const EngineOptions& target, std::string device) {
  EngineOptions options = target;
  options.logit_rows = 0;  // a row for each sequence
  options.on_op = nullptr;
  options.device = std::move(device);
  options.placement.reset();
  if (options.device != kHostDevice) options.isa.clear();
  return options;
}

std::vector<std::size_t> ShareDrafts(std::span<const std::size_t> wanted, std::size_t room) {
  std::vector<std::size_t> shares(wanted.begin(), wanted.end());
  std::vector<std::size_t> order(wanted.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Those that want least first: what they leave is for the others.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  std::size_t left = order.size();
  for (const std::size_t i : order) {
    shares[i] = std::min(shares[i], room / left--);
    room -= shares[i];
  }
  return shares;
}

Status PromptLookup::Draft(std::span<DraftWork> work) {
  for (DraftWork& w : work) {
    const std::size_t begin = w.tokens.size() < 2 ? 0 : FindEarlier(w.tokens, min_match_);
    if (begin == 0) continue;
    for (std::size_t i = 0; i < std::min(w.most, most_); ++i) {
      const std::size_t at = begin + i;
      const TokenId next = at < w.tokens.size() ? w.tokens[at] : w.draft[at - w.tokens.size()];
      w.draft.push_back(next);
    }
  }
  return {};
}

Result<std::unique_ptr<ModelDraft>> ModelDraft::Load(const GgufFile& file, const ModelSpec& spec,
                                                     const Engine& target, std::size_t most,
                                                     const LoadControl& control,
                                                     const std::string& device) {
  constexpr std::string_view kSubject = "draft model";
  VT_RETURN_IF_ERROR(CanTakeBack(spec).Annotate(kSubject));
  const EngineOptions options =
      DraftOptions(target.options(), device.empty() ? target.device().id : device);
  std::vector<DeviceInfo> devices = {target.device()};
  if (options.device != target.device().id) {
    Result<std::vector<DeviceInfo>> chosen = ChooseDevices(options);
    if (!chosen.ok()) return chosen.status().Annotate(kSubject);
    devices = std::move(chosen).value();
  }
  const Result<EnginePlan> plan = MakePlan(file, spec, options, devices);
  VT_RETURN_IF_ERROR(plan.status().Annotate(kSubject));
  VT_RETURN_IF_ERROR(CheckFitsBeside(*plan, devices.front(), target.Memory()).Annotate(kSubject));
  Result<std::unique_ptr<Engine>> engine = Engine::Load(file, spec, options, control);
  VT_RETURN_IF_ERROR(engine.status().Annotate(kSubject));
  return std::unique_ptr<ModelDraft>(new ModelDraft(std::move(*engine), most));
}

// The sequence of a request, holding a part of its tokens, never the last of them.
Result<ModelDraft::Fed*> ModelDraft::Open(const DraftWork& work) {
  const auto found = fed_.find(work.request);
  if (found == fed_.end()) {
    Fed fed;
    std::size_t reused = 0;
    VT_ASSIGN_OR_RETURN(fed.sequence, engine_->Open(work.tokens, &reused));
    fed.tokens.assign(work.tokens.begin(),
                      work.tokens.begin() + static_cast<std::ptrdiff_t>(reused));
    return &fed_.emplace(work.request, std::move(fed)).first->second;
  }
  Fed& fed = found->second;
  const auto parting = std::mismatch(fed.tokens.begin(), fed.tokens.end(), work.tokens.begin(),
                                     work.tokens.end() - 1);
  fed.tokens.erase(parting.first, fed.tokens.end());
  VT_RETURN_IF_ERROR(engine_->Truncate(fed.sequence, fed.tokens.size()));
  return &fed;
}

// Feeds what the sequences have become since the last time, which gives the first guess of each.
Status ModelDraft::CatchUp(std::span<DraftWork> work, std::span<Fed* const> fed) {
  while (true) {
    auto room = static_cast<std::size_t>(engine_->options().ubatch);
    std::vector<StepTokens> entries;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < work.size(); ++i) {
      const std::span<const TokenId> left = work[i].tokens.subspan(fed[i]->tokens.size());
      const std::span<const TokenId> part = left.first(std::min(left.size(), room));
      if (part.empty()) continue;
      entries.push_back({.sequence = fed[i]->sequence,
                         .tokens = part,
                         .last_logits = part.size() == left.size()});
      owners.push_back(i);
      room -= part.size();
    }
    if (entries.empty()) return {};
    const auto sink = [&](std::size_t e, std::size_t, std::span<const float> logits) {
      work[owners[e]].draft.push_back(Likeliest(logits));
      return Status();
    };
    VT_RETURN_IF_ERROR(engine_->Step(entries, sink));
    for (std::size_t e = 0; e < entries.size(); ++e) {
      std::vector<TokenId>& tokens = fed[owners[e]]->tokens;
      tokens.insert(tokens.end(), entries[e].tokens.begin(), entries[e].tokens.end());
    }
  }
}

// Feeds the newest guess of each for the next one, all in step.
Status ModelDraft::GoOn(std::span<DraftWork> work, std::span<Fed* const> fed) {
  while (true) {
    std::vector<StepTokens> entries;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (work[i].draft.size() >= work[i].most) continue;
      fed[i]->tokens.push_back(work[i].draft.back());
      entries.push_back({.sequence = fed[i]->sequence,
                         .tokens = std::span(fed[i]->tokens).last(1),
                         .tentative = true});
      owners.push_back(i);
    }
    if (entries.empty()) return {};
    const auto sink = [&](std::size_t e, std::size_t, std::span<const float> logits) {
      work[owners[e]].draft.push_back(Likeliest(logits));
      return Status();
    };
    VT_RETURN_IF_ERROR(engine_->Step(entries, sink));
  }
}

Status ModelDraft::Draft(std::span<DraftWork> work) {
  std::vector<Fed*> fed;
  for (const DraftWork& w : work) {
    VT_ASSIGN_OR_RETURN(Fed * one, Open(w));
    fed.push_back(one);
  }
  VT_RETURN_IF_ERROR(CatchUp(work, fed));
  return GoOn(work, fed);
}

void ModelDraft::End(std::size_t request) {
  const auto found = fed_.find(request);
  if (found == fed_.end()) return;
  engine_->Close(found->second.sequence);
  fed_.erase(found);
}

}  // namespace vt
