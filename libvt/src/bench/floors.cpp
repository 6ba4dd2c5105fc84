#include "bench/floors.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/json_writer.h"

namespace vt {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> Text(const Json& row, const char* key, const std::string& at, bool required) {
  const auto it = row.find(key);
  if (it == row.end() || it->is_null()) {
    if (!required) return std::string();
    return JsonError(at, std::string("lacks \"") + key + "\"");
  }
  if (!it->is_string() || it->get<std::string>().empty()) {
    return JsonError(at + "/" + key, "is no text");
  }
  return it->get<std::string>();
}

Result<double> Number(const Json& row, const char* key, const std::string& at, double below) {
  const auto it = row.find(key);
  if (it == row.end()) return JsonError(at, std::string("lacks \"") + key + "\"");
  const double value = it->is_number() ? it->get<double>() : NAN;
  if (!(value >= 0 && value < below)) {
    return JsonError(at + "/" + key, "is no number from 0 to below " + std::to_string(below));
  }
  return value;
}

Result<Floor> ReadFloor(const Json& row, const std::string& at) {
  if (!row.is_object()) return JsonError(at, "is no object");
  for (const auto& [key, unused] : row.items()) {
    constexpr std::string_view kKeys[] = {"axis", "value", "tolerance", "machine", "model"};
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
      return JsonError(at + "/" + key,
                       "unknown key (known: axis, value, tolerance, machine, model)");
    }
  }
  Floor floor;
  VT_ASSIGN_OR_RETURN(floor.axis, Text(row, "axis", at, true));
  VT_ASSIGN_OR_RETURN(floor.value, Number(row, "value", at, 1e12));
  VT_ASSIGN_OR_RETURN(floor.tolerance, Number(row, "tolerance", at, 1));
  VT_ASSIGN_OR_RETURN(floor.machine, Text(row, "machine", at, true));
  VT_ASSIGN_OR_RETURN(floor.model, Text(row, "model", at, false));
  if (floor.value == 0) return JsonError(at + "/value", "is 0, which is always reached");
  return floor;
}

bool SameModel(const Floor& floor, const RatesDocument& rates) {
  const std::string base = rates.model.substr(rates.model.rfind('/') + 1);
  return floor.model.empty() || floor.model == rates.digest || floor.model == base;
}

}  // namespace

Result<std::vector<Floor>> ParseFloors(std::string_view text) {
  VT_ASSIGN_OR_RETURN(const Json root, ParseJson(text));
  if (!root.is_object() || !root.contains("schema") || root["schema"] != "vt.bench-floors/1") {
    return JsonError("/schema", "is not \"vt.bench-floors/1\"");
  }
  for (const auto& [key, unused] : root.items()) {
    if (key != "schema" && key != "floors") {
      return JsonError("/" + key, "unknown key (known: schema, floors)");
    }
  }
  if (!root.contains("floors") || !root["floors"].is_array() || root["floors"].empty()) {
    return JsonError("/floors", "is no list with at least one floor");
  }
  std::vector<Floor> floors;
  for (const Json& row : root["floors"]) {
    VT_ASSIGN_OR_RETURN(Floor floor, ReadFloor(row, "/floors/" + std::to_string(floors.size())));
    floors.push_back(std::move(floor));
  }
  return floors;
}

std::string FloorsDocument(const std::vector<Floor>& floors) {
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.bench-floors/1").Key("floors").BeginArray();
  for (const Floor& floor : floors) {
    json.BeginObject().Field("axis", floor.axis).Field("value", floor.value);
    json.Field("tolerance", floor.tolerance).Field("machine", floor.machine).Key("model");
    if (floor.model.empty()) {
      json.Null();
    } else {
      json.Value(floor.model);
    }
    json.EndObject();
  }
  return json.EndArray().EndObject().Take();
}

std::string_view NameOf(FloorAnswer::State state) {
  switch (state) {
    case FloorAnswer::State::kReached:
      return "reached";
    case FloorAnswer::State::kRegression:
      return "regression";
    case FloorAnswer::State::kNotMeasured:
      return "not_measured";
    case FloorAnswer::State::kOtherMachine:
      return "other_machine";
    case FloorAnswer::State::kOtherModel:
      break;
  }
  return "other_model";
}

std::vector<FloorAnswer> CheckFloors(const std::vector<Floor>& floors, const RatesDocument& rates) {
  std::vector<FloorAnswer> answers;
  for (const Floor& floor : floors) {
    FloorAnswer answer{floor, FloorAnswer::State::kReached, {}, {}};
    const auto axis = std::find_if(rates.axes.begin(), rates.axes.end(),
                                   [&](const AxisRates& one) { return one.axis == floor.axis; });
    if (floor.machine != "*" && rates.device.find(floor.machine) == std::string::npos) {
      answer.state = FloorAnswer::State::kOtherMachine;
    } else if (!SameModel(floor, rates)) {
      answer.state = FloorAnswer::State::kOtherModel;
    } else if (axis == rates.axes.end()) {
      answer.state = FloorAnswer::State::kNotMeasured;
    } else {
      answer.measured = axis->median;
      if (axis->median < floor.value * (1 - floor.tolerance)) {
        answer.state = FloorAnswer::State::kRegression;
      } else if (axis->median > floor.value * (1 + floor.tolerance)) {
        answer.proposed = axis->median;
      }
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

bool Passed(const std::vector<FloorAnswer>& answers) {
  const auto any = [&](FloorAnswer::State state) {
    return std::any_of(answers.begin(), answers.end(),
                       [=](const FloorAnswer& answer) { return answer.state == state; });
  };
  return any(FloorAnswer::State::kReached) && !any(FloorAnswer::State::kRegression) &&
         !any(FloorAnswer::State::kNotMeasured);
}

}  // namespace vt
