#include "place/place_reasons.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/size_text.h"
#include "models/spec_weights.h"
#include "ops/resolve.h"
#include "plan/placement.h"

namespace vt {
namespace {

std::size_t At(int index) { return static_cast<std::size_t>(index); }

struct Reader {
  ModelPart part = ModelPart::kInput;
  int layer = -1;
};

// By tensor, of matrices: the part that it lies with.
std::vector<Reader> PartsByTensor(const GgufFile& file, const ModelSpec& spec) {
  std::vector<Reader> readers(file.tensors().size());
  std::vector<bool> known(file.tensors().size());
  VisitWeights(spec, [&](int layer, const char* place, WeightUse use, const WeightRef& ref) {
    const ModelPart part = PartOf(layer, place);
    const auto t = At(ref.tensor);
    if (use != WeightUse::kMatrix || (known[t] && part != ModelPart::kOutput)) return;
    known[t] = true;
    readers[t] = {part, layer};
  });
  return readers;
}

std::string ToBf16(const GgufTensor& tensor) {
  return std::string(NameOf(tensor.type)) + " to bf16";
}

std::string Count(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// The device that would hold decoded what `there` keeps: the layer's own, else the first. -1: none.
int WouldExpand(const PlaceUnits& units, std::size_t tensor, int there, int home) {
  if (units.held[At(there)][tensor] == Held::kExpanded) return -1;
  if (units.held[At(home)][tensor] == Held::kExpanded) return home;
  for (std::size_t d = 0; d < units.held.size(); ++d) {
    if (units.held[d][tensor] == Held::kExpanded) return static_cast<int>(d);
  }
  return -1;
}

}  // namespace

std::vector<std::string> ReasonsFor(const GgufFile& file, const ModelSpec& spec,
                                    const PlaceRequest& request, const PlaceUnits& units,
                                    const PinnedTensors& pins, const Placement& placement) {
  const std::vector<Reader> parts = PartsByTensor(file, spec);
  std::vector<std::string> reasons(file.tensors().size());
  for (std::size_t t = 0; t < reasons.size(); ++t) {
    const int there = placement.tensors[t];
    if (there < 0) continue;
    std::string& reason = reasons[t];
    const auto [part, layer] = parts[t];
    const std::string name = "layer " + std::to_string(layer);
    if (pins.device[t] >= 0) {
      reason = pins.RuleOf(t);
    } else if (units.table[t]) {
      reason = there == placement.input ? "with the input" : "embedding: looked up by row";
    } else if (layer < 0) {
      reason = "with the " + std::string(NameOf(part));
    } else if (part == ModelPart::kExperts) {
      const int home = placement.layers[At(layer)].ffn;
      const int elsewhere = WouldExpand(units, t, there, home);
      if (elsewhere >= 0) {
        reason = "would expand on " + request.devices[At(elsewhere)].id + " (" +
                 ToBf16(file.tensors()[t]) + ")";
      } else if (there != home) {
        reason = "fits best apart from " + name;
      } else {
        reason = "fits best with " + name;
      }
    } else {
      reason = "fits best with " + name;
    }
    const bool experts = part == ModelPart::kExperts && layer >= 0;
    if (const std::int64_t slots = experts ? placement.layers[At(layer)].expert_slots : 0) {
      reason += "; " + std::to_string(slots) + " of " +
                std::to_string(spec.layers[At(layer)].moe.experts) +
                " experts at a time (--expert-slots)";
    }
    if (placement.held[t] == Held::kExpanded) {
      reason += "; expanded (" + ToBf16(file.tensors()[t]) + "): " + request.devices[At(there)].id +
                " does not keep it";
    }
  }
  return reasons;
}

std::vector<std::string> NotesOn(const GgufFile& file, const ModelSpec& spec,
                                 const PlaceRequest& request, const PlaceUnits& units,
                                 const Placement& placement, const Fit& fit) {
  struct Group {
    std::size_t matrices = 0;
    std::uint64_t disk = 0, expanded = 0;
    std::set<std::string_view> types;
    std::string Types() const {
      std::string names;
      for (const std::string_view type : types) {
        names.append(names.empty() ? "" : ", ").append(type);
      }
      return names;
    }
  };
  std::map<int, Group> expanded;                // by device
  std::map<std::pair<int, int>, Group> spared;  // by device, and that where they would expand
  const std::vector<Reader> parts = PartsByTensor(file, spec);
  std::set<int> used = {placement.input, placement.output};
  for (const LayerPlacement& layer : placement.layers) {
    used.insert({layer.mixer, layer.ffn, layer.experts});
  }
  for (std::size_t t = 0; t < placement.tensors.size(); ++t) {
    const int there = placement.tensors[t];
    if (there < 0) continue;
    used.insert(there);
    Group* group = nullptr;
    int where = there;
    if (placement.held[t] == Held::kExpanded) {
      group = &expanded[there];
    } else if (parts[t].part == ModelPart::kExperts) {
      where = WouldExpand(units, t, there, placement.layers[At(parts[t].layer)].ffn);
      if (where >= 0) group = &spared[{there, where}];
    }
    if (group == nullptr) continue;
    ++group->matrices;
    group->disk += file.tensors()[t].bytes;
    group->expanded += units.tensor_bytes[At(where)][t];
    group->types.insert(NameOf(file.tensors()[t].type));
  }
  std::vector<std::string> notes;
  notes.reserve(expanded.size() + spared.size());
  for (const auto& [device, group] : expanded) {
    notes.push_back(request.devices[At(device)].id + ": " + std::to_string(group.matrices) +
                    " matrices" + " of " + SizeText(group.disk) + " are expanded to bf16, " +
                    SizeText(group.expanded) + ": it does not keep " + group.Types());
  }
  for (const auto& [where, group] : spared) {
    notes.push_back(request.devices[At(where.first)].id + ": " + Count(group.matrices, "tower") +
                    " of experts (" + SizeText(group.disk) + ") that would expand on " +
                    request.devices[At(where.second)].id + " to " + SizeText(group.expanded) +
                    " (" + group.Types() + " to bf16)");
  }
  for (int d = 0; d < static_cast<int>(request.devices.size()); ++d) {
    const DeviceInfo& device = request.devices[At(d)];
    if (!used.contains(d)) notes.push_back(device.id + ": not used");
    if (!units.lacks[At(d)].empty()) {
      notes.push_back(device.id + ": " + units.lacks[At(d)] +
                      (used.contains(d) && device.described && !request.strict_kernels
                           ? "; this build cannot run the plan there"
                           : "; what needs it is placed elsewhere"));
    }
    if (const std::string missing = DeviceRates(device).missing(); !missing.empty()) {
      notes.push_back(device.id + ": " + missing +
                      " is not known: it was assumed for the search, and no speed is predicted; " +
                      (device.kind == DeviceKind::kCpu ? "vt-bench calibrate measures it"
                                                       : "a profile of the machine can say it"));
    }
  }
  if (fit.verdict == FitVerdict::kFitsByPaging) {
    notes.push_back("fits by paging alone: what is mapped of the file on " + fit.deficit_where +
                    " exceeds its budget by " + SizeText(fit.deficit_bytes.value_or(0)) +
                    (fit.paged_bytes
                         ? "; " + SizeText(*fit.paged_bytes) + " are read again for each token"
                         : ""));
  }
  return notes;
}

Status DoesNotFit(const GgufFile& file, const PlaceRequest& request, const PlaceUnits& units,
                  const PinnedTensors& pins, const Fit& fit) {
  const std::string& where = fit.deficit_where;
  const std::uint64_t need = NeedAt(fit, where);
  const std::int64_t deficit = fit.deficit_bytes.value_or(0);
  const std::uint64_t budget = deficit > 0 ? need - static_cast<std::uint64_t>(deficit) : need;
  std::string source;
  std::vector<bool> short_of(request.devices.size());
  for (std::size_t d = 0; d < request.devices.size(); ++d) {
    const std::string& id = request.devices[d].id;
    short_of[d] =
        where == id || where.find(id + "+") != std::string::npos || where.ends_with("+" + id);
    if (where != id) continue;
    if (const Budget* one = FindBudget(request.budgets, id)) source = " (" + one->source + ")";
  }
  // The rule that puts most there.
  std::vector<std::uint64_t> asked(pins.rules.size());
  for (std::size_t t = 0; t < pins.device.size(); ++t) {
    const int d = pins.device[t];
    if (d < 0 || !short_of[At(d)]) continue;
    asked[At(pins.rule[t])] += units.tensor_bytes[At(d)][t];
  }
  const auto most = std::max_element(asked.begin(), asked.end());
  std::string message;
  if (most != asked.end() && *most > 0) {
    const std::string& rule = pins.rules[static_cast<std::size_t>(most - asked.begin())];
    message = rule + ": puts " + SizeText(*most) + " on " + where + ", which ";
  } else {
    message = "no placement fits: the nearest on " + where + " ";
  }
  message += "needs " + std::to_string(need) + " bytes (" + SizeText(need) + "), free " +
             std::to_string(budget) + " (" + SizeText(budget) + ")" + source + ", deficit " +
             std::to_string(deficit) + " bytes (" + SizeText(deficit) + ")";
  std::size_t matrices = 0;
  std::uint64_t disk = 0, expanded = 0;
  for (std::size_t t = 0; t < units.unit_of.size(); ++t) {
    if (units.unit_of[t] < 0) continue;
    for (std::size_t d = 0; d < short_of.size(); ++d) {
      const bool there = pins.device[t] < 0 ? request.devices.size() == 1 : At(pins.device[t]) == d;
      if (!short_of[d] || !there || units.held[d][t] != Held::kExpanded) continue;
      ++matrices;
      disk += file.tensors()[t].bytes;
      expanded += units.tensor_bytes[d][t];
    }
  }
  if (matrices > 0) {
    message += "; " + std::to_string(matrices) +
               " of its matrices are not kept there and expand "
               "from " +
               SizeText(disk) + " to " + SizeText(expanded) + " (bf16)";
  }
  message += pins.rules.empty() ? "; lower --ctx, --sequences or --ubatch, use a smaller --kv-type "
                                  "or more devices"
                                : "; loosen the pin, lower --ctx, or give a larger --budget";
  return {Code::kNo, message};
}

}  // namespace vt
