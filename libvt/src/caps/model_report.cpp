#include "caps/model_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace vt {
namespace {

bool SameAnswer(const GroupAnswer& a, const GroupAnswer& b) {
  return a.tier == b.tier && a.kernel == b.kernel && a.refusal == b.refusal && a.reason == b.reason;
}

std::vector<GroupAnswer> AnswersOf(const Registry& registry, const NeededGroup& need,
                                   std::size_t index, const DeviceInfo& device) {
  if (need.calls.empty()) {
    return {{.device = index,
             .tokens = {},
             .tier = std::nullopt,
             .kernel = {},
             .refusal = Refusal::kNotWritten,
             .reason = need.unwritten}};
  }
  std::vector<GroupAnswer> answers;
  for (const NeededCall& needed : need.calls) {
    Verdict verdict = JudgeCall(registry, device, needed.call);
    const bool runs = verdict.refusal == Refusal::kNone;
    GroupAnswer answer{.device = index,
                       .tokens = {},
                       .tier = runs ? std::optional(verdict.tier) : std::nullopt,
                       .kernel = runs ? std::move(verdict.kernel) : std::string(),
                       .refusal = verdict.refusal,
                       .reason = std::move(verdict.reason)};
    const auto same = std::find_if(answers.begin(), answers.end(), [&](const GroupAnswer& other) {
      return SameAnswer(other, answer);
    });
    if (same != answers.end()) {
      same->tokens.push_back(needed.tokens);
      continue;
    }
    answer.tokens.push_back(needed.tokens);
    answers.push_back(std::move(answer));
  }
  return answers;
}

// Of every row that refuses for this cause: rows may want different types, and any of them could be
// the one that the reader has in mind.
std::string ReasonsOf(const std::vector<Verdict>& verdicts, Refusal cause) {
  std::vector<std::pair<std::string, std::string>> reasons;  // with the kernels that give it
  for (const Verdict& verdict : verdicts) {
    if (verdict.refusal != cause) continue;
    const auto same = std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
      return reason.first == verdict.reason;
    });
    if (same == reasons.end()) {
      reasons.emplace_back(verdict.reason, verdict.kernel);
    } else {
      same->second.append(", ").append(verdict.kernel);
    }
  }
  if (reasons.size() == 1) return reasons.front().first;
  std::string text;
  for (const auto& [reason, kernels] : reasons) {
    text.append(text.empty() ? "" : "; ").append(kernels).append(": ").append(reason);
  }
  return text;
}

void Count(const std::vector<GroupAnswer>& answers, DeviceVerdict& device) {
  // A missing answer is below every tier.
  const auto worst =
      std::min_element(answers.begin(), answers.end(),
                       [](const GroupAnswer& a, const GroupAnswer& b) { return a.tier < b.tier; });
  if (!worst->tier) {
    ++device.missing;
    return;
  }
  switch (*worst->tier) {
    case Tier::kNative:
      ++device.native;
      return;
    case Tier::kComposed:
      ++device.composed;
      return;
    case Tier::kReference:
      ++device.reference;
      return;
  }
}

std::optional<Tier> Lowest(const DeviceVerdict& device) {
  if (device.missing > 0) return std::nullopt;
  if (device.reference > 0) return Tier::kReference;
  return device.composed > 0 ? Tier::kComposed : Tier::kNative;
}

// Composed rows are in every build, for what their parts are worth.
bool IsBuilt(const Registry& registry, DeviceKind kind) {
  bool built = false;
  registry.ForEach([&](std::string_view, const auto& kernel) {
    built |= kernel.device == kind && (kernel.run || kernel.launch);
  });
  return built;
}

// Devices may need different ops at a place (their activations differ in form), so that a place and
// not an op is what runs somewhere or nowhere.
std::vector<std::string> PlacesNowhere(const ModelReport& report) {
  std::vector<std::pair<int, std::string>> order;
  std::map<std::pair<int, std::string>, std::set<std::size_t>> lacking;
  for (const AnsweredGroup& group : report.groups) {
    for (const GroupAnswer& answer : group.answers) {
      if (answer.tier) continue;
      for (const auto& place : group.need.places) {
        const auto [at, is_new] = lacking.try_emplace(place);
        if (is_new) order.push_back(place);
        at->second.insert(answer.device);
      }
    }
  }
  std::erase_if(order, [&](const std::pair<int, std::string>& place) {
    return lacking[place].size() < report.devices.size();
  });
  return GatherLayers(order);
}

}  // namespace

Verdict JudgeCall(const Registry& registry, const DeviceInfo& device, const AnyArgs& call) {
  return std::visit(
      [&](const auto& args) {
        const auto found = Resolve(registry, device, args);
        if (found.ok()) {
          return Verdict{(*found)->name, (*found)->tier, (*found)->priority, Refusal::kNone, {}};
        }
        const std::vector<Verdict> all = Explain(registry, device, args);
        Verdict verdict = NearestCause(all);
        verdict.reason = ReasonsOf(all, verdict.refusal);
        const std::optional<DType> type = WeightTypeOf(args);
        if (!type || verdict.refusal == Refusal::kNotKept) return verdict;
        Support kept = Keeps(device, *type);
        if (kept.yes) return verdict;
        verdict.refusal = Refusal::kNotKept;
        verdict.reason = kept.reason.append("; besides, ").append(verdict.reason);
        return verdict;
      },
      call);
}

std::string_view StateOf(const GroupAnswer& answer) {
  if (answer.tier) return NameOf(*answer.tier);
  return answer.refusal == Refusal::kNotKept ? "not kept" : "missing";
}

ModelReport JudgeModel(const Registry& registry, ModelNeeds needs,
                       const std::vector<DeviceInfo>& devices, const EngineOptions& options,
                       std::optional<Tier> require) {
  ModelReport report;
  report.options = options;
  report.from_forward = needs.from_forward;
  report.unknown_reason = std::move(needs.unknown_reason);
  report.tensors = needs.tensors;
  report.left = std::move(needs.left);
  report.require = require;
  for (const DeviceInfo& info : devices) {
    DeviceVerdict& device = report.devices.emplace_back();
    device.info = info;
    device.configure = ConfigureFlag(info.kind);
    device.built = IsBuilt(registry, info.kind);
  }
  for (NeededGroup& need : needs.groups) {
    AnsweredGroup group{.need = std::move(need), .answers = {}};
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!group.need.kinds.contains(devices[i].kind)) continue;
      const std::vector<GroupAnswer> answers = AnswersOf(registry, group.need, i, devices[i]);
      Count(answers, report.devices[i]);
      for (const GroupAnswer& answer : answers) report.below += answer.tier < require ? 1 : 0;
      group.answers.insert(group.answers.end(), answers.begin(), answers.end());
    }
    report.groups.push_back(std::move(group));
  }
  report.nowhere = PlacesNowhere(report);
  for (DeviceVerdict& device : report.devices) device.lowest = Lowest(device);
  return report;
}

}  // namespace vt
