// The members of a vt.fit/1 document (docs/json/vt.fit.md), and the sentences in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "place/fit.h"
#include "place/fit_search.h"

namespace vt {

inline constexpr std::string_view kFitSchema = "vt.fit/1";

struct FitModel {
  std::string file;
  std::string digest;
  std::string architecture;
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t tensors = 0;
  std::uint64_t context_train = 0;  // 0: not told
};

// What was asked beyond the verdict, and what runs beside the model.
struct FitExtras {
  std::optional<FitModel> draft;
  std::optional<FitModel> projector;
  bool max_asked = false;
  std::optional<std::uint64_t> max_context;
  std::vector<FitCurve> curves;
};

// The members that follow "schema" and "tool".
void WriteFitBody(JsonWriter& json, const FitModel& model, const Fit& fit, const FitExtras& extras);

// The verdict on one device of a described machine.
struct ProfileFit {
  std::string profile;
  std::string device;
  std::string device_name;
  Fit fit;
};

// The members of a vt.fit-profiles/1 document that follow "schema" and "tool".
void WriteProfilesBody(JsonWriter& json, const FitModel& model,
                       const std::vector<ProfileFit>& fits);

// The row of that device; null: it has none.
const DeviceFit* FindDeviceFit(const Fit& fit, std::string_view id);

// "--ctx 40960, "put the experts of 12 layers on cpu (vt-place --n-cpu-moe 12)".
std::string RemedyText(const Remedy& remedy, const Fit& fit);

// "does not fit: hip:0 lacks 3.25 GiB", "fits, with 3.2 GiB left on cpu".
std::string VerdictText(const Fit& fit);

}  // namespace vt
