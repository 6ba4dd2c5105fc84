#include "golden/locate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>

namespace vt {
namespace {

using Key = std::tuple<int, std::string, std::string, std::size_t>;  // the last: which of its kind

std::map<Key, const OpRecorder::Output*> ByKey(const std::vector<OpRecorder::Output>& outputs,
                                               std::vector<Key>* order) {
  std::map<Key, const OpRecorder::Output*> found;
  std::map<std::tuple<int, std::string, std::string>, std::size_t> seen;
  for (const OpRecorder::Output& output : outputs) {
    const std::size_t number = seen[{output.layer, output.place, output.op}]++;
    const Key key{output.layer, output.place, output.op, number};
    found[key] = &output;
    if (order) order->push_back(key);
  }
  return found;
}

double RelativeError(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    error += off * off;
    power += static_cast<double>(a[i]) * static_cast<double>(a[i]);
  }
  const double relative = power > 0 ? std::sqrt(error / power) : std::sqrt(error);
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::infinity();
}

bool Identical(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> SelectionBias(const LocateSide& side, const MoeSpec& moe) {
  std::vector<float> bias(static_cast<std::size_t>(moe.experts), 0.0f);
  if (!moe.selection_bias || !side.file) return bias;
  const GgufTensor& tensor =
      side.file->tensors()[static_cast<std::size_t>(moe.selection_bias.tensor)];
  if (tensor.type != DType::kF32 || tensor.bytes != bias.size() * sizeof(float)) return bias;
  side.file->CopyTo(tensor, reinterpret_cast<std::byte*>(bias.data()));
  return bias;
}

// What the router ranks by.
std::vector<double> Scores(const MoeSpec& moe, const std::vector<float>& logits,
                           const std::vector<float>& bias) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (moe.gating == RouterGating::kSigmoid) {
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  } else if (moe.gating == RouterGating::kSoftmax) {
    const double lse = LogSumExp(logits);
    for (double& score : scores) score = std::exp(score - lse);
  }
  for (std::size_t e = 0; e < scores.size(); ++e) scores[e] += static_cast<double>(bias[e]);
  return scores;
}

// `route` is one of `outputs`.
ExpertSet ExpertsOf(const LocateSide& side, const std::vector<OpRecorder::Output>& outputs,
                    const OpRecorder::Output& route) {
  ExpertSet set;
  set.experts = route.numbers;
  const MoeSpec& moe = side.engine->spec().layers[static_cast<std::size_t>(route.layer)].moe;
  const std::vector<float>* logits = nullptr;
  for (const OpRecorder::Output& one : outputs) {
    if (&one == &route) break;
    if (one.layer == route.layer && one.place == "ffn_gate_inp" &&
        one.values.size() == static_cast<std::size_t>(moe.experts)) {
      logits = &one.values;
    }
  }
  if (!logits) return set;
  const std::vector<double> scores = Scores(moe, *logits, SelectionBias(side, moe));
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -lowest;
  for (std::size_t e = 0; e < scores.size(); ++e) {
    const bool chosen = std::find(set.experts.begin(), set.experts.end(),
                                  static_cast<std::int32_t>(e)) != set.experts.end();
    if (chosen) lowest = std::min(lowest, scores[e]);
    if (!chosen) highest = std::max(highest, scores[e]);
  }
  set.margin = lowest - highest;
  return set;
}

bool SameSet(std::vector<std::int32_t> a, std::vector<std::int32_t> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

class Comparison {
 public:
  Comparison(const LocateSide& ours, const LocateSide& against, std::string case_name,
             double tolerance)
      : ours_(ours), against_(against), case_name_(std::move(case_name)) {
    report_.tolerance = tolerance;
  }

  // The step of the token at `position`, as both recorders have it.
  void Take(std::size_t position) {
    std::vector<Key> order;
    const auto a = ByKey(ours_.recorder->outputs, &order);
    const auto b = ByKey(against_.recorder->outputs, nullptr);
    std::size_t matched = 0;
    for (const Key& key : order) {
      const auto other = b.find(key);
      const OpRecorder::Output& mine = *a.at(key);
      if (other == b.end() || other->second->values.size() != mine.values.size()) continue;
      ++matched;
      TakePair(position, mine, *other->second);
      if (!mine.numbers.empty()) TakeChoice(position, mine, *other->second);
    }
    report_.compared += matched;
    report_.unmatched += a.size() + b.size() - 2 * matched;
  }

  LocateReport Finish() {
    for (const auto& [layer, error] : layers_) report_.layers.emplace_back(layer, error);
    return std::move(report_);
  }

 private:
  void TakeChoice(std::size_t position, const OpRecorder::Output& mine,
                  const OpRecorder::Output& other) {
    ++report_.choices;
    if (SameSet(mine.numbers, other.numbers)) return;
    ++report_.other_choices;
    if (report_.other_experts) return;
    report_.other_experts = {case_name_, position, mine.layer,
                             ExpertsOf(ours_, ours_.recorder->outputs, mine),
                             ExpertsOf(against_, against_.recorder->outputs, other)};
  }

  void TakePair(std::size_t position, const OpRecorder::Output& mine,
                const OpRecorder::Output& other) {
    double& layer = layers_[mine.layer];
    if (mine.values.empty() || Identical(mine.values, other.values)) return;
    const double error = RelativeError(mine.values, other.values);
    layer = std::max(layer, error);
    const OpPlace place{case_name_, position,    mine.layer,   mine.place,
                        mine.op,    mine.kernel, other.kernel, error};
    if (!report_.not_identical) report_.not_identical = place;
    if (!report_.above_tolerance && error > report_.tolerance) report_.above_tolerance = place;
  }

  const LocateSide& ours_;
  const LocateSide& against_;
  std::string case_name_;
  std::map<int, double> layers_;
  LocateReport report_;
};

Result<SequenceId> OpenEmpty(Engine& engine) { return engine.Open({}, nullptr); }

Status StepOne(const LocateSide& side, SequenceId sequence, const TokenId& token) {
  side.recorder->outputs.clear();
  StepTokens entry;
  entry.sequence = sequence;
  entry.tokens = {&token, 1};
  return side.engine->Step(
      {&entry, 1}, [](std::size_t, std::size_t, std::span<const float>) { return Status(); });
}

std::string PlaceText(const OpPlace& place) {
  char error[32];
  std::snprintf(error, sizeof error, "%.2e", place.error);
  const std::string kernels =
      place.kernel +
      (place.kernel == place.kernel_against ? "" : " against " + place.kernel_against);
  return (place.layer < 0 ? "outside the layers, "
                          : "layer " + std::to_string(place.layer) + ", ") +
         (place.op.empty() ? "" : place.op + " at ") + place.place +
         (kernels.empty() ? "" : " (" + kernels + ")") + ", case " + ValidUtf8(place.case_name) +
         ", position " + std::to_string(place.position) + ", relative error " + error;
}

void WritePlace(std::string_view key, const std::optional<OpPlace>& place, JsonWriter& json) {
  json.Key(key);
  if (!place) {
    json.Null();
    return;
  }
  json.BeginObject().Field("case", place->case_name).Field("position", place->position);
  json.Key("layer");
  if (place->layer < 0) {
    json.Null();
  } else {
    json.Value(place->layer);
  }
  json.Field("place", place->place).Field("op", place->op).Field("kernel", place->kernel);
  json.Field("kernel_against", place->kernel_against).Field("error", place->error).EndObject();
}

void WriteExpertSet(std::string_view key, const ExpertSet& set, JsonWriter& json) {
  json.Key(key).BeginObject().Key("experts").BeginArray();
  for (const std::int32_t expert : set.experts) json.Value(expert);
  json.EndArray().Field("margin", set.margin).EndObject();
}

void WriteExperts(const LocateReport& report, JsonWriter& json) {
  json.Key("experts");
  if (report.choices == 0) {
    json.Null();
    return;
  }
  json.BeginObject().Field("choices", report.choices).Field("different", report.other_choices);
  json.Key("first");
  if (!report.other_experts) {
    json.Null().EndObject();
    return;
  }
  const ExpertPlace& place = *report.other_experts;
  json.BeginObject().Field("case", place.case_name).Field("position", place.position);
  json.Field("layer", place.layer);
  WriteExpertSet("ours", place.ours, json);
  WriteExpertSet("against", place.against, json);
  json.EndObject().EndObject();
}

std::string ExpertText(const ExpertSet& set) {
  std::string text;
  for (const std::int32_t expert : set.experts) {
    text += (text.empty() ? "" : " ") + std::to_string(expert);
  }
  if (std::isnan(set.margin)) return text;
  char margin[32];
  std::snprintf(margin, sizeof margin, "%.2e", set.margin);
  return text + " (margin " + margin + ")";
}

std::string ExpertsText(const LocateReport& report) {
  if (report.choices == 0) return {};
  if (!report.other_experts) {
    return "  experts: the same in all " + std::to_string(report.choices) + " choices\n";
  }
  const ExpertPlace& place = *report.other_experts;
  return "  experts: " + std::to_string(report.other_choices) + " of " +
         std::to_string(report.choices) + " choices differ, first in layer " +
         std::to_string(place.layer) + ", case " + ValidUtf8(place.case_name) + ", position " +
         std::to_string(place.position) + ":\n    here " + ExpertText(place.ours) + ", against " +
         ExpertText(place.against) + "\n";
}

}  // namespace

std::function<Status(const OpEvent&)> OpRecorder::Hook() {
  return [this](const OpEvent& event) {
    outputs.push_back({event.layer,
                       std::string(event.place),
                       std::string(event.op),
                       std::string(event.kernel),
                       {event.out.begin(), event.out.end()},
                       {event.numbers.begin(), event.numbers.end()}});
    return Status();
  };
}

Result<LocateReport> Locate(const LocateSide& ours, const LocateSide& against,
                            const std::string& case_name, std::span<const TokenId> tokens,
                            double tolerance, const CheckWatch& watch) {
  VT_ASSIGN_OR_RETURN(const SequenceId a, OpenEmpty(*ours.engine));
  VT_ASSIGN_OR_RETURN(const SequenceId b, OpenEmpty(*against.engine));
  Comparison comparison(ours, against, case_name, tolerance);
  Status status;
  for (std::size_t i = 0; i < tokens.size() && status.ok(); ++i) {
    if (watch.cancel && *watch.cancel) status = Status(Code::kInterrupted, "interrupted");
    if (status.ok()) status = StepOne(ours, a, tokens[i]);
    if (status.ok()) status = StepOne(against, b, tokens[i]);
    if (!status.ok()) break;
    comparison.Take(i);
    if (watch.progress) watch.progress(i + 1, tokens.size());
  }
  ours.engine->Close(a);
  against.engine->Close(b);
  if (!status.ok()) return status;
  return comparison.Finish();
}

void WriteLocate(const LocateReport& report, JsonWriter& json) {
  json.BeginObject().Field("against", report.against).Field("tolerance", report.tolerance);
  json.Field("ops_compared", report.compared).Field("ops_unmatched", report.unmatched);
  WritePlace("first_not_identical", report.not_identical, json);
  WritePlace("first_above_tolerance", report.above_tolerance, json);
  WriteExperts(report, json);
  json.Key("layers").BeginArray();
  for (const auto& [layer, error] : report.layers) {
    json.BeginObject().Key("layer");
    if (layer < 0) {
      json.Null();
    } else {
      json.Value(layer);
    }
    json.Field("error", error).EndObject();
  }
  json.EndArray().EndObject();
}

std::string LocateText(const LocateReport& report) {
  std::string text = "locate, against " + ValidUtf8(report.against) + ": ";
  if (report.compared == 0) return text + "no op has a counterpart\n";
  if (!report.not_identical) {
    return text + "all " + std::to_string(report.compared) + " outputs are the same to the bit\n";
  }
  text += "\n  first that differs: " + PlaceText(*report.not_identical) + "\n";
  char number[32];
  std::snprintf(number, sizeof number, "%.2g", report.tolerance);
  text += std::string("  first above ") + number + ": " +
          (report.above_tolerance ? PlaceText(*report.above_tolerance) : "none") + "\n";
  text += ExpertsText(report);
  text += "  largest error by layer:";
  for (const auto& [layer, error] : report.layers) {
    std::snprintf(number, sizeof number, "%.1e", error);
    text += (layer < 0 ? " outside " : " " + std::to_string(layer) + ":") + std::string(number);
  }
  return text + "\n";
}

}  // namespace vt
