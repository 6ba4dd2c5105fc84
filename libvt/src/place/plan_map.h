// A memory map: what each device of a plan holds, drawn against its budget.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "place/plan_document.h"

namespace vt {

struct MapRow {
  std::string row;  // "weights.kept"
  std::uint64_t bytes = 0;
  std::string how;  // "mapped"; may be empty
};

struct MapDevice {
  std::string id;
  std::string name;  // may be empty
  std::vector<MapRow> rows;
  std::optional<std::uint64_t> budget_bytes;
  std::string budget_source;
  std::uint64_t total_bytes() const;
};

// The devices of a plan, in its order.
std::vector<MapDevice> MapOf(const PlanDocument& plan);

// For a terminal: at most 80 columns, ASCII unless a name is not. Each row's bar starts where the
// one before it ends; "|" is the budget, where that is not far off.
std::string MemoryMapText(std::span<const MapDevice> devices);

// The same as an SVG drawing, one strip per device.
std::string MemoryMapSvg(const std::string& title, std::span<const MapDevice> devices);

// The bytes that the whole width of a device's drawing stands for: its need, or its budget where
// that is larger but not so large that nothing else would be seen.
std::uint64_t MapScale(const MapDevice& device);

}  // namespace vt
