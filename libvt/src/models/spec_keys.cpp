// Metadata under an architecture's prefix, with its bounds.
#include <cmath>

#include "models/spec_builder.h"

namespace vt {
namespace {

std::string Range(std::uint64_t min, std::uint64_t max) {
  return std::to_string(min) + " to " + std::to_string(max);
}

std::string Shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

std::string SpecBuilder::Key(std::string_view name) const {
  return std::string(family_.architecture) + "." + std::string(name);
}

Result<std::optional<std::uint64_t>> SpecBuilder::Count(std::string_view name, std::uint64_t min,
                                                        std::uint64_t max) const {
  const std::string key = Key(name);
  VT_ASSIGN_OR_RETURN(std::optional<std::uint64_t> value, file_.GetU64(key));
  if (value && (*value < min || *value > max)) {
    return CorruptError("key \"" + key + "\": value " + std::to_string(*value) +
                        " is out of range (allowed " + Range(min, max) + ")");
  }
  return value;
}

Result<std::uint64_t> SpecBuilder::RequiredCount(std::string_view name, std::uint64_t min,
                                                 std::uint64_t max) const {
  VT_ASSIGN_OR_RETURN(std::optional<std::uint64_t> value, Count(name, min, max));
  if (!value)
    return CorruptError("key \"" + Key(name) + "\": missing (allowed " + Range(min, max) + ")");
  return *value;
}

Result<std::optional<double>> SpecBuilder::Number(std::string_view name, double min,
                                                  double max) const {
  const std::string key = Key(name);
  VT_ASSIGN_OR_RETURN(std::optional<double> value, file_.GetF64(key));
  if (value && !(*value >= min && *value <= max)) {
    return CorruptError("key \"" + key + "\": value " + Shown(*value) +
                        " is out of range (allowed " + Shown(min) + " to " + Shown(max) + ")");
  }
  return value;
}

Result<std::optional<bool>> SpecBuilder::Flag(std::string_view name) const {
  return file_.GetBool(Key(name));
}

Result<double> SpecBuilder::NumberOr(std::string_view name, double fallback, double min,
                                     double max) const {
  VT_ASSIGN_OR_RETURN(std::optional<double> value, Number(name, min, max));
  return value.value_or(fallback);
}

Result<std::optional<std::vector<std::uint64_t>>> SpecBuilder::CountPerLayer(
    std::string_view name, std::uint64_t min, std::uint64_t max) const {
  using PerLayer = std::optional<std::vector<std::uint64_t>>;
  const std::string key = Key(name);
  const GgufValue* value = file_.Find(key);
  if (!value) return PerLayer();
  if (!value->is_array()) {
    VT_ASSIGN_OR_RETURN(std::uint64_t one, RequiredCount(name, min, max));
    return PerLayer(std::vector<std::uint64_t>(layer_count_, one));
  }
  VT_ASSIGN_OR_RETURN(const GgufValue* array, file_.GetNumberArray(key));
  if (array->count < layer_count_) {
    return CorruptError("key \"" + key + "\": array of " + std::to_string(array->count) +
                        " values for " + std::to_string(layer_count_) + " layers");
  }
  std::vector<std::uint64_t> values(layer_count_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<std::int64_t> element = array->ElementI64(i);
    if (!element || *element < 0 || static_cast<std::uint64_t>(*element) < min ||
        static_cast<std::uint64_t>(*element) > max) {
      return CorruptError("key \"" + key + "\": element " + std::to_string(i) + " is " +
                          (element ? std::to_string(*element) : "not an integer") + " (allowed " +
                          Range(min, max) + ")");
    }
    values[i] = static_cast<std::uint64_t>(*element);
  }
  return PerLayer(std::move(values));
}

}  // namespace vt
