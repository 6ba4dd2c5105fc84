#include "place/plan_map.h"

#include <algorithm>
#include <cmath>

#include "base/size_text.h"
#include "base/text_layout.h"

namespace vt {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kNameWidth = 18, kSizeWidth = 11, kHowWidth = 10;
constexpr std::size_t kBarAt = kIndent + kNameWidth + kSizeWidth + kHowWidth + 2;
constexpr std::size_t kBarWidth = kTextColumns - kBarAt - 1;
constexpr std::uint64_t kFarBudget = 4;  // times the need

std::size_t Column(std::uint64_t bytes, std::uint64_t scale) {
  const double share = static_cast<double>(bytes) / static_cast<double>(scale);
  return std::min(static_cast<std::size_t>(std::lround(share * kBarWidth)), kBarWidth);
}

// The bar of a row that begins after `before` bytes, with the line of the budget.
std::string Bar(std::uint64_t before, std::uint64_t bytes, const MapDevice& device, char fill) {
  const std::uint64_t scale = MapScale(device);
  std::string bar(kBarWidth + 1, ' ');
  const std::size_t begin = std::min(Column(before, scale), kBarWidth - 1);
  const std::size_t end = std::max(Column(before + bytes, scale), begin + 1);
  const bool marked = device.budget_bytes && *device.budget_bytes <= scale;
  const std::size_t mark = marked ? Column(*device.budget_bytes, scale) : bar.size();
  if (marked) bar[mark] = '|';
  for (std::size_t i = begin; i < end; ++i) bar[i] = i >= mark ? '!' : fill;
  bar.erase(bar.find_last_not_of(' ') + 1);
  return bar;
}

std::string Line(std::string_view name, std::string_view size, std::string_view how,
                 std::string_view bar) {
  std::string line(kIndent, ' ');
  line += Left(name, kNameWidth) + Right(size, kSizeWidth) + "  " + Left(how, kHowWidth);
  line += bar;
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string BudgetText(const MapDevice& device, std::uint64_t total) {
  if (!device.budget_bytes) return "budget not known";
  const std::uint64_t budget = *device.budget_bytes;
  std::string text = "budget " + SizeText(budget);
  if (!device.budget_source.empty()) text += " (" + Printable(device.budget_source) + ")";
  const std::int64_t left = SignedDifference(budget, total);
  return text + (left >= 0 ? ": " + SizeText(left) + " left" : ": over by " + SizeText(-left));
}

std::string DeviceText(const MapDevice& device) {
  std::string title = Printable(device.id);
  if (!device.name.empty()) title += ": " + Printable(device.name);
  std::string text = Wrapped(title, 0, kIndent);
  const std::uint64_t total = device.total_bytes();
  std::uint64_t before = 0;
  for (const MapRow& row : device.rows) {
    text += Line(Printable(row.row), SizeText(row.bytes), Printable(row.how),
                 Bar(before, row.bytes, device, '#'));
    before += row.bytes;
  }
  if (device.rows.empty()) {
    text += "  nothing of the model is here\n";
  } else {
    text += Line("in all", SizeText(total), "", Bar(0, total, device, '-'));
  }
  return text + std::string(kIndent, ' ') +
         Wrapped(BudgetText(device, total), kIndent, 2 * kIndent);
}

}  // namespace

std::uint64_t MapDevice::total_bytes() const {
  std::uint64_t total = 0;
  for (const MapRow& one : rows) total += one.bytes;
  return total;
}

std::uint64_t MapScale(const MapDevice& device) {
  const std::uint64_t total = std::max<std::uint64_t>(device.total_bytes(), 1);
  if (!device.budget_bytes || *device.budget_bytes / kFarBudget > total) return total;
  return std::max(total, *device.budget_bytes);
}

std::vector<MapDevice> MapOf(const PlanDocument& plan) {
  std::vector<MapDevice> devices;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    MapDevice& device = devices.emplace_back();
    device.id = plan.devices[i].id;
    device.name = plan.devices[i].name;
    device.budget_bytes = plan.budgets[i].bytes;
    device.budget_source = plan.budgets[i].source;
    for (const MemoryRow& row : plan.rows) {
      if (row.device == device.id) device.rows.push_back({row.row, row.predicted_bytes, row.how});
    }
  }
  return devices;
}

std::string MemoryMapText(std::span<const MapDevice> devices) {
  std::string text;
  for (const MapDevice& device : devices) {
    if (!text.empty()) text += "\n";
    text += DeviceText(device);
  }
  return text;
}

}  // namespace vt
