// What two plans place or set differently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "place/plan_document.h"

namespace vt {

inline constexpr std::string_view kPlanDiffSchema = "vt.plan-diff/1";

struct PlanDiff {
  struct Setting {
    std::string name;  // "context", "model.digest"
    std::string a, b;
  };
  struct Part {
    std::string part;  // "input", "ffn"
    int layer = -1;    // -1: outside the layers
    std::string a, b;  // devices
  };
  // A device and how it holds the tensor.
  struct Place {
    std::optional<std::string> device;  // none: read as values, or unused
    std::optional<Held> held;
    bool operator==(const Place&) const = default;
  };
  struct Tensor {
    std::string name;
    std::uint64_t bytes = 0;
    std::optional<Place> a, b;  // none: the plan does not have the tensor
  };
  struct Row {
    std::string device, row;
    std::uint64_t a_bytes = 0, b_bytes = 0;
  };
  struct DeviceBudget {
    std::string device;
    std::optional<std::uint64_t> a_bytes, b_bytes;  // none: unknown, or no such device
  };

  std::vector<Setting> settings;
  std::vector<Part> parts;
  std::vector<Tensor> tensors;
  std::vector<Row> rows;
  std::vector<DeviceBudget> budgets;  // which are no difference of what runs
  Prediction a_prediction, b_prediction;

  bool same() const { return settings.empty() && parts.empty() && tensors.empty() && rows.empty(); }
};

PlanDiff DiffPlans(const PlanDocument& a, const PlanDocument& b);

// The members of a vt.plan-diff/1 document after "a" and "b".
void WriteDiffBody(const PlanDiff& diff, JsonWriter& json);

std::string_view NameOf(Held held);  // "kept", "expanded"

}  // namespace vt
