#include "place/budget.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json_writer.h"
#include "base/size_text.h"
#include "device/probe.h"

namespace vt {
namespace {

constexpr std::string_view kHost = "cpu";

const std::uint64_t* Find(const DeviceBytes& list, std::string_view device) {
  for (const auto& [name, bytes] : list) {
    if (name == device) return &bytes;
  }
  return nullptr;
}

Status CheckNames(const char* option, const DeviceBytes& list,
                  const std::vector<DeviceInfo>& devices) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string& name = list[i].first;
    std::string known;
    bool found = false;
    for (const DeviceInfo& device : devices) {
      found = found || device.id == name;
      known += (known.empty() ? "" : ", ") + device.id;
    }
    if (!found) {
      return InvalidError(std::string(option) + ": device \"" + ValidUtf8(name) +
                          "\" is not there (found: " + known + ")");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (list[j].first != name) continue;
      return InvalidError(std::string(option) + ": device " + name + " is named twice");
    }
  }
  return {};
}

std::string Text(const BudgetFact& fact) { return fact.name + " " + SizeText(fact.bytes); }

// "ceiling 58.00 GiB (allocation until failure), the smaller of total 64.00 GiB and ceiling 58.00
// GiB"
std::string SourceOf(const std::vector<BudgetFact>& facts, const BudgetFact& smallest) {
  std::string text = Text(smallest);
  // A total needs no word; who is held to less wants to know by what.
  const bool holds = smallest.name == "ceiling" || smallest.name == "limit";
  if (holds && !smallest.source.empty()) text += " (" + smallest.source + ")";
  if (facts.size() > 1) {
    text += facts.size() == 2 ? ", the smaller of " : ", the smallest of ";
    for (std::size_t i = 0; i < facts.size(); ++i) {
      text += (i == 0 ? "" : i + 1 == facts.size() ? " and " : ", ") + Text(facts[i]);
    }
  }
  return text;
}

// What is to be left to the rest of the machine. Of the host it is known, or a share of it; of
// other devices only what is said.
MemoryFact ReserveOf(const DeviceInfo& device) {
  if (device.memory_reserve.bytes || device.kind != DeviceKind::kCpu) return device.memory_reserve;
  return MemoryReserve(device.memory_total, device.memory_limit);
}

MemoryFact LiveOf(const DeviceInfo& device, const DeviceInfo* host) {
  const bool counts_cache_as_used =
      device.kind == DeviceKind::kCuda && device.integrated.yes.value_or(false);
  if (!counts_cache_as_used || host == nullptr) return device.memory_available;
  const MemoryFact& available = host->memory_available;
  if (!available.bytes) return {};
  const std::uint64_t reserve = ReserveOf(*host).bytes.value_or(0);
  std::string source = available.source + " less a reserve of " + SizeText(reserve);
  if (device.memory_available.bytes) {
    source += " (what " + device.id + " reports as free, " +
              SizeText(*device.memory_available.bytes) + ", leaves out the page cache)";
  }
  return {*available.bytes - std::min(*available.bytes, reserve), std::move(source)};
}

Budget BudgetOf(const DeviceInfo& device, const DeviceInfo* host, const BudgetOptions& options) {
  Budget budget;
  budget.device = device.id;
  budget.live = LiveOf(device, host);
  budget.shares_host = host != nullptr && SharesHost(device);
  const std::uint64_t* given = Find(options.given, device.id);
  const std::uint64_t* reserve = Find(options.reserves, device.id);
  const auto add = [&](const char* name, const MemoryFact& fact) {
    // Nothing has no bytes: a reader that found no number.
    if (fact.bytes && *fact.bytes > 0) budget.facts.push_back({name, *fact.bytes, fact.source});
  };
  if (given) {
    budget.facts.push_back({"given", *given, "--budget"});
  } else {
    add("total", device.memory_total);
    add("ceiling", device.memory_ceiling);
    add("limit", device.memory_limit);
    const MemoryFact kept = ReserveOf(device);
    budget.reserve_bytes = kept.bytes.value_or(0);
  }
  if (reserve) budget.reserve_bytes = *reserve;
  if (budget.facts.empty() && !options.live) {
    budget.reserve_bytes = 0;
    budget.source = "unknown: " + device.id + " says neither what it has in all nor a ceiling";
    return budget;
  }
  if (options.live) add("live", budget.live);
  if (budget.facts.empty()) {
    budget.reserve_bytes = 0;
    budget.source = "unknown: " + device.id + " says neither what it has nor what is free";
    return budget;
  }
  BudgetFact& smallest =
      *std::min_element(budget.facts.begin(), budget.facts.end(),
                        [](const BudgetFact& a, const BudgetFact& b) { return a.bytes < b.bytes; });
  smallest.used = true;
  const std::uint64_t least = std::min(smallest.bytes, kMostBudgetBytes);
  budget.bytes = least - std::min(least, budget.reserve_bytes);
  budget.source = given ? "--budget " + SizeText(*given) : SourceOf(budget.facts, smallest);
  if (budget.reserve_bytes > 0) {
    budget.source += ", less a reserve of " + SizeText(budget.reserve_bytes);
  }
  return budget;
}

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {
    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
    {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12}};

Result<std::uint64_t> ParseSize(std::string_view text) {
  const std::string shown = "\"" + ValidUtf8(text) + "\"";
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !std::isfinite(number) || number < 0) {
    return InvalidError(shown + " is not a size (as in 16GiB)");
  }
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    const double bytes = number * known.bytes;
    if (bytes > static_cast<double>(kMostBudgetBytes)) {
      return InvalidError(shown + " is more than any device has (allowed: up to 1024TiB)");
    }
    return static_cast<std::uint64_t>(bytes);
  }
  return InvalidError(shown + (unit.empty() ? " has no unit" : " has a unit that is not known") +
                      " (KiB, MiB, GiB, TiB, KB, MB, GB or TB, as in 16GiB)");
}

}  // namespace

bool SharesHost(const DeviceInfo& device) {
  if (device.kind == DeviceKind::kCpu || !device.integrated.yes.value_or(false)) return false;
  return device.kind != DeviceKind::kHip || device.managed_allocations.yes.value_or(true);
}

Result<std::vector<Budget>> BudgetsOf(const std::vector<DeviceInfo>& devices,
                                      const BudgetOptions& options) {
  VT_RETURN_IF_ERROR(CheckNames("--budget", options.given, devices));
  VT_RETURN_IF_ERROR(CheckNames("--reserve", options.reserves, devices));
  const auto host = std::find_if(devices.begin(), devices.end(),
                                 [](const DeviceInfo& device) { return device.id == kHost; });
  std::vector<Budget> budgets;
  budgets.reserve(devices.size());
  for (const DeviceInfo& device : devices) {
    budgets.push_back(BudgetOf(device, host == devices.end() ? nullptr : &*host, options));
  }
  return budgets;
}

Result<DeviceBytes> ParseBudgets(std::string_view text) {
  DeviceBytes list;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return InvalidError("\"" + ValidUtf8(item) + "\" is not DEVICE=SIZE (as in cpu=16GiB)");
    }
    const std::string device(item.substr(0, equals));
    if (Find(list, device)) {
      return InvalidError("device " + ValidUtf8(device) + " is named twice");
    }
    VT_ASSIGN_OR_RETURN(const std::uint64_t bytes, ParseSize(item.substr(equals + 1)));
    list.emplace_back(device, bytes);
  }
  return list;
}

const Budget* FindBudget(const std::vector<Budget>& budgets, std::string_view device) {
  for (const Budget& budget : budgets) {
    if (budget.device == device) return &budget;
  }
  return nullptr;
}

}  // namespace vt
