// Rates that must be reached: vt.bench-floors/1 documents against records.
//
// {"schema":"vt.bench-floors/1","floors":[{"axis":"pp512","value":120.5,"tolerance":0.05,
//  "machine":"Ryzen 9 7950X","model":"xxh3-128:..."}]}: `value` in tokens a second, of which the
// share `tolerance` may be missing; `machine` is a part of the device's name, "*" any; `model` a
// digest or a file name, absent or null: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/rates_document.h"

namespace vt {

struct Floor {
  std::string axis;
  double value = 0;
  double tolerance = 0;
  std::string machine;
  std::string model;  // empty: any
};

// Strict: kInvalid, at() a JSON pointer.
Result<std::vector<Floor>> ParseFloors(std::string_view json);
std::string FloorsDocument(const std::vector<Floor>& floors);

struct FloorAnswer {
  enum class State { kReached, kRegression, kNotMeasured, kOtherMachine, kOtherModel };
  Floor floor;
  State state = State::kReached;
  std::optional<double> measured;
  std::optional<double> proposed;  // a higher floor: the rate is more than the tolerance above
};
std::string_view NameOf(FloorAnswer::State state);  // "reached", "regression", "not_measured", ..

std::vector<FloorAnswer> CheckFloors(const std::vector<Floor>& floors, const RatesDocument& rates);
// Whether at least one floor was reached and none was missed: a check of nothing is no success.
bool Passed(const std::vector<FloorAnswer>& answers);

}  // namespace vt
