// Questions to vt-fit and vt-place about models whose weights are not there.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/profile.h"
#include "place/fit.h"
#include "place/fit_search.h"
#include "place/place.h"
#include "plan/placement.h"
#include "support/header_models.h"
#include "support/test_files.h"

namespace vt::test {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

inline DeviceInfo DeviceOfSize(const std::string& id, DeviceKind kind, std::uint64_t bytes) {
  DeviceInfo device;
  device.id = id;
  device.kind = kind;
  device.name = id;
  device.cores = 8;
  device.memory_total = {bytes, "test"};
  return device;
}

// A request for a placement on `devices`, whose first ones have `budgets`; the others' are unknown.
inline PlaceRequest RequestOn(std::vector<DeviceInfo> devices,
                              const std::vector<std::uint64_t>& budgets) {
  PlaceRequest request;
  request.options.context = 4096;
  request.options.ubatch = 512;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Budget budget;
    budget.device = devices[i].id;
    if (i < budgets.size()) budget.bytes = budgets[i];
    budget.source = "a test";
    request.budgets.push_back(budget);
  }
  request.devices = std::move(devices);
  return request;
}

inline std::vector<DeviceInfo> ProfileDevices(const std::string& name) {
  const auto profile = ParseProfile(ReadFile(DataPath("../../profiles/" + name + ".json")));
  EXPECT_TRUE(profile.ok()) << profile.status().message();
  return profile.ok() ? profile->devices : std::vector<DeviceInfo>();
}

// A model and a machine to ask about.
class FitCase {
 public:
  FitCase(GgufFile file, std::vector<DeviceInfo> devices, std::string device = "cpu")
      : file_(std::move(file)) {
    Result<ModelSpec> spec = ReadModelSpec(file_);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    if (spec.ok()) spec_ = std::move(spec).value();
    request.devices = std::move(devices);
    request.options.device = std::move(device);
    SetBudgets();
  }
  FitCase(std::string_view model, std::vector<DeviceInfo> devices, std::string device = "cpu")
      : FitCase(HeaderModel(model), std::move(devices), std::move(device)) {}

  void SetBudgets(const BudgetOptions& options = {}) {
    Result<std::vector<Budget>> budgets = BudgetsOf(request.devices, options);
    EXPECT_TRUE(budgets.ok()) << budgets.status().message();
    if (budgets.ok()) request.budgets = std::move(budgets).value();
  }
  // Gives one device so much, whatever it has.
  void Give(std::string_view device, std::uint64_t bytes) {
    for (Budget& budget : request.budgets) {
      if (budget.device == device) budget.bytes = bytes;
    }
  }

  Fit Judge() const {
    Result<Fit> fit = JudgeFit(file_, spec_, request);
    EXPECT_TRUE(fit.ok()) << fit.status().message();
    return fit.ok() ? std::move(fit).value() : Fit();
  }
  Fit At(std::uint64_t context, std::int64_t sequences = 1, std::int64_t ubatch = 512) {
    request.options.context = context;
    request.options.sequences = sequences;
    request.options.ubatch = ubatch;
    return Judge();
  }
  std::optional<std::uint64_t> Largest() const {
    const auto largest = LargestContext(file_, spec_, request, request.options);
    EXPECT_TRUE(largest.ok()) << largest.status().message();
    return largest.ok() ? *largest : std::nullopt;
  }

  const GgufFile& file() const { return file_; }
  const ModelSpec& spec() const { return spec_; }
  FitRequest request;

 private:
  GgufFile file_;
  ModelSpec spec_;
};

inline const DeviceFit& On(const Fit& fit, std::string_view device) {
  for (const DeviceFit& one : fit.devices) {
    if (one.id == device) return one;
  }
  ADD_FAILURE() << "no device " << device;
  static const DeviceFit none;
  return none;
}

// Of all rows whose names begin so.
inline std::uint64_t RowsOf(const DeviceFit& device, std::string_view prefix) {
  std::uint64_t bytes = 0;
  for (const FitRow& row : device.rows) bytes += row.row.starts_with(prefix) ? row.bytes : 0;
  return bytes;
}

inline const Remedy* FindRemedy(const Fit& fit, std::string_view kind) {
  for (const Remedy& remedy : fit.remedies) {
    if (remedy.kind == kind) return &remedy;
  }
  return nullptr;
}

}  // namespace vt::test
