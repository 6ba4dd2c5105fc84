#include "cli/place_table.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/size_text.h"
#include "base/text_layout.h"
#include "place/plan_map.h"
#include "place/tensor_readers.h"

namespace vt::cli {
namespace {

constexpr std::size_t kColumn = 18;

std::string Count(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

std::string Line(const std::string& head, const std::string& text) {
  return Hanging("  " + Left(head, kColumn - 3), kColumn, Printable(text));
}

std::string Heading(const PlanDocument& plan) {
  const PlannedModel& model = plan.model;
  std::string text = Line("model", model.path);
  std::string about =
      model.name.empty() ? model.architecture : model.name + " (" + model.architecture + ")";
  text += Line(
      "", about + ", " + Count(plan.tensors.size(), "tensor") + ", " + SizeText(model.file_bytes));
  const EngineOptions& o = plan.options;
  text += Line("run", "context " + std::to_string(o.context) + ", " +
                          Count(static_cast<std::size_t>(o.sequences), "sequence") + ", ubatch " +
                          std::to_string(o.ubatch) + ", keys and values " +
                          std::string(NameOf(o.kv_type)) + ", " +
                          Count(static_cast<std::size_t>(o.threads), "thread") +
                          (o.exact ? ", exact" : ""));
  std::string asked = plan.wishes.objective + " fast";
  for (const std::string& pin : plan.wishes.pins) asked += ", --pin " + pin;
  if (plan.wishes.cpu_moe) asked += ", --cpu-moe";
  if (plan.wishes.n_cpu_moe > 0) {
    asked += ", --n-cpu-moe " + std::to_string(plan.wishes.n_cpu_moe);
  }
  if (plan.wishes.expert_slots > 0) {
    asked += ", --expert-slots " + std::to_string(plan.wishes.expert_slots);
  }
  if (plan.chosen_context && !plan.chosen_context->why.empty()) {
    text += Line("", ReducedText(*plan.chosen_context));
  }
  text += Line("asked for", asked);
  text += Line("plan", plan.hash);
  if (plan.verdict) text += Line("verdict", *plan.verdict);
  return text;
}

std::string LayerText(const PlanDocument& plan, const LayerPlacement& layer) {
  const std::vector<std::string>& ids = plan.options.placement->devices;
  const auto id = [&](int device) { return ids[static_cast<std::size_t>(device)]; };
  const bool together = layer.mixer == layer.ffn && layer.ffn == layer.experts;
  std::string text = id(layer.mixer);
  if (!together) text = "mixer " + text + ", ffn " + id(layer.ffn);
  if (layer.experts != layer.ffn) text += ", experts " + id(layer.experts);
  if (layer.expert_slots > 0) {
    text += ", " + std::to_string(layer.expert_slots) + " experts at a time";
  }
  return text;
}

std::string Parts(const PlanDocument& plan) {
  const Placement& placement = *plan.options.placement;
  const auto id = [&](int device) { return placement.devices[static_cast<std::size_t>(device)]; };
  std::string text = "\nparts\n" + Line("input", id(placement.input));
  const std::vector<LayerPlacement>& layers = placement.layers;
  for (std::size_t begin = 0; begin < layers.size();) {
    std::size_t end = begin + 1;
    while (end < layers.size() && layers[end] == layers[begin]) ++end;
    std::string range = "layer " + std::to_string(begin);
    if (end > begin + 1) range = "layers " + std::to_string(begin) + "-" + std::to_string(end - 1);
    text += Line(range, LayerText(plan, layers[begin]));
    begin = end;
  }
  return text + Line("output", id(placement.output));
}

// The device that a part of the plan is on.
int DeviceOfPart(const Placement& placement, const PartOfPlace& part) {
  if (part.part == ModelPart::kInput) return placement.input;
  if (part.part == ModelPart::kOutput) return placement.output;
  if (part.layer < 0 || static_cast<std::size_t>(part.layer) >= placement.layers.size()) return -1;
  const LayerPlacement& layer = placement.layers[static_cast<std::size_t>(part.layer)];
  if (part.part == ModelPart::kMixer) return layer.mixer;
  return part.part == ModelPart::kFfn ? layer.ffn : layer.experts;
}

bool LiesWithItsPart(const Placement& placement, const PlannedTensor& tensor) {
  return std::any_of(tensor.read_by.begin(), tensor.read_by.end(), [&](const std::string& place) {
    const int device = DeviceOfPart(placement, ParsePlace(place));
    return device >= 0 && placement.devices[static_cast<std::size_t>(device)] == tensor.device;
  });
}

// Tensors in one line by device: how many, how much, and the first few.
struct TensorList {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> first;
};

void Add(const PlannedTensor& tensor, const std::string& device,
         std::map<std::string, TensorList>& lists) {
  constexpr std::size_t kShown = 4;
  TensorList& list = lists[device];
  ++list.count;
  list.bytes += tensor.bytes;
  if (list.first.size() < kShown) list.first.push_back(tensor.name);
}

std::string Lists(const std::map<std::string, TensorList>& lists, const std::string& head) {
  std::string text;
  for (const auto& [device, list] : lists) {
    std::string names = Joined(list.first);
    if (list.count > list.first.size()) names += ", ..";
    text += Line(head, "on " + device + ": " + Count(list.count, "tensor") + ", " +
                           SizeText(list.bytes) + " in the file (" + names + ")");
  }
  return text;
}

std::string Exceptions(const PlanDocument& plan) {
  std::map<std::string, TensorList> away, expanded;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (!tensor.device) continue;
    if (!LiesWithItsPart(*plan.options.placement, tensor)) Add(tensor, *tensor.device, away);
    if (tensor.held == Held::kExpanded) Add(tensor, *tensor.device, expanded);
  }
  return Lists(away, "off their part") + Lists(expanded, "decoded");
}

std::string SpeedText(const std::optional<double>& rate, const std::string& bottleneck) {
  if (!rate) return "not known";
  char number[32];
  std::snprintf(number, sizeof number, *rate < 10 ? "%.2f" : "%.0f", *rate);
  return std::string(number) + " tokens/s" + (bottleneck.empty() ? "" : "; " + bottleneck);
}

std::string Speed(const PlanDocument& plan) {
  const Prediction& p = plan.prediction;
  std::string text = "\npredicted speed\n" +
                     Line("decode", SpeedText(p.decode_tok_per_s, p.decode_bottleneck)) +
                     Line("prefill", SpeedText(p.prefill_tok_per_s, p.prefill_bottleneck));
  if (!p.missing.empty()) text += Line("not known", p.missing);
  return text + Line("search", plan.exact ? "every placement was looked at or ruled out"
                                          : "the best of those that were tried");
}

std::string PlaceText(const std::optional<PlanDiff::Place>& place) {
  if (!place) return "not there";
  if (!place->device) return "no device";
  return *place->device + (place->held == Held::kExpanded ? " decoded" : "");
}

std::string SizeOr(const std::optional<std::uint64_t>& bytes) {
  return bytes ? SizeText(*bytes) : std::string("unknown");
}

std::string RateOr(const std::optional<double>& rate) { return SpeedText(rate, ""); }

}  // namespace

std::vector<std::string> PartsThatRead(const PlannedTensor& tensor) {
  std::vector<std::string> parts;
  for (const std::string& place : tensor.read_by) {
    const std::string part = PartText(ParsePlace(place));
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  return parts;
}

std::string PlanTable(const PlanDocument& plan) {
  std::string text = Heading(plan) + "\n" + MemoryMapText(MapOf(plan)) + Parts(plan);
  text += Exceptions(plan) + Speed(plan);
  if (!plan.notes.empty()) text += "\nnotes\n";
  for (const std::string& note : plan.notes) text += Hanging("  -", 4, Printable(note));
  return text;
}

std::string TensorTable(const PlanDocument& plan, const PlannedTensor& tensor) {
  std::string text = Printable(tensor.name) + "\n";
  text += Line("of", plan.model.path);
  text += Line("type", tensor.type + ", " + std::to_string(tensor.bytes) + " bytes (" +
                           SizeText(tensor.bytes) + ") in the file");
  if (tensor.device) {
    text += Line("device", *tensor.device);
    text += Line("held", tensor.held == Held::kExpanded ? "decoded to bf16 at the load"
                                                        : "as the file has it");
  } else {
    text += Line("device", "none of its own");
  }
  const std::vector<std::string> parts = PartsThatRead(tensor);
  text += Line("part", parts.empty() ? "none" : Joined(parts));
  text += Line("read by", tensor.read_by.empty() ? "nothing" : Joined(tensor.read_by));
  return text + Line("because", tensor.reason.empty() ? "no reason was given" : tensor.reason);
}

std::string PlanDiffTable(const PlanDiff& diff, const std::string& a, const std::string& b) {
  std::string text = "a: " + Printable(a) + "\nb: " + Printable(b) + "\n";
  if (diff.same()) text += "Both plans run the same.\n";
  if (!diff.settings.empty()) text += "\nsettings\n";
  for (const PlanDiff::Setting& one : diff.settings) {
    text += Line(one.name, one.a + " -> " + one.b);
  }
  // Neighbouring layers whose part moved alike share a line.
  std::vector<PlanDiff::Part> parts = diff.parts;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& x, const auto& y) { return x.part < y.part; });
  if (!parts.empty()) text += "\nparts\n";
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin + 1;
    const auto follows = [&](const PlanDiff::Part& one) {
      return one.part == parts[begin].part && one.a == parts[begin].a && one.b == parts[begin].b &&
             one.layer == parts[end - 1].layer + 1;
    };
    while (end < parts.size() && follows(parts[end])) ++end;
    std::string head = parts[begin].part;
    if (parts[begin].layer >= 0) head += " " + std::to_string(parts[begin].layer);
    if (end > begin + 1) head += "-" + std::to_string(parts[end - 1].layer);
    text += Line(head, parts[begin].a + " -> " + parts[begin].b);
    begin = end;
  }
  std::map<std::string, TensorList> moves;
  for (const PlanDiff::Tensor& one : diff.tensors) {
    PlannedTensor tensor;
    tensor.name = one.name;
    tensor.bytes = one.bytes;
    Add(tensor, PlaceText(one.a) + " -> " + PlaceText(one.b), moves);
  }
  if (!moves.empty()) text += "\ntensors\n";
  for (const auto& [move, list] : moves) {
    std::string names = Joined(list.first);
    if (list.count > list.first.size()) names += ", ..";
    text += Hanging("", 2,
                    Printable(move + ": " + Count(list.count, "tensor") + ", " +
                              SizeText(list.bytes) + " (" + names + ")"));
  }
  if (!diff.rows.empty()) text += "\nmemory\n";
  for (const PlanDiff::Row& one : diff.rows) {
    text += Hanging("  " + Left(one.device, 9) + " " + Left(one.row, 19), 32,
                    SizeText(one.a_bytes) + " -> " + SizeText(one.b_bytes));
  }
  if (!diff.budgets.empty()) text += "\nbudgets, which do not count as a difference\n";
  for (const PlanDiff::DeviceBudget& one : diff.budgets) {
    text += Line(one.device, SizeOr(one.a_bytes) + " -> " + SizeOr(one.b_bytes));
  }
  const Prediction& x = diff.a_prediction;
  const Prediction& y = diff.b_prediction;
  if (x.decode_tok_per_s != y.decode_tok_per_s || x.prefill_tok_per_s != y.prefill_tok_per_s) {
    text += "\npredicted speed\n";
    text += Line("decode", RateOr(x.decode_tok_per_s) + " -> " + RateOr(y.decode_tok_per_s));
    text += Line("prefill", RateOr(x.prefill_tok_per_s) + " -> " + RateOr(y.prefill_tok_per_s));
  }
  return text;
}

}  // namespace vt::cli
