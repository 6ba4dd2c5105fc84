// How many bytes a plan may take of each device: from facts that do not change from run to run, so
// that the same question has the same answer; what is free right now stands beside it.
//
// The budget of a device is the smallest of what it reports in all, the ceiling of its allocations
// (of the host: the memory of the NUMA nodes that the process is bound to) and the limit of the
// control group, as far as they are known, less what is left to the rest of the machine. An
// integrated device takes its memory from the host's, so that what both take together is held to
// the host's budget as well; one whose allocations are said not to be managed has a part of the
// memory for itself, which the host does not count as its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vt/device.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::uint64_t kMostBudgetBytes = std::uint64_t{1} << 50;

// A fact that a budget is made from.
struct BudgetFact {
  std::string name;  // "total", "ceiling", "limit", "live", "given"
  std::uint64_t bytes = 0;
  std::string source;  // where it was read
  bool used = false;   // the smallest, which decides
};

struct Budget {
  std::string device;                  // its id
  std::optional<std::uint64_t> bytes;  // none: unknown, and nothing is refused for it
  // "ceiling 58.00 GiB (allocation until failure), the smaller of total 64.00 GiB and ceiling 58.00
  // GiB", "--budget 16.00 GiB".
  std::string source;
  std::vector<BudgetFact> facts;
  std::uint64_t reserve_bytes = 0;  // that was taken off for the rest of the machine
  MemoryFact live;                  // what is free now
  // Takes its memory from the host's: what both take together must fit the host's budget as well.
  bool shares_host = false;
};

using DeviceBytes = std::vector<std::pair<std::string, std::uint64_t>>;

struct BudgetOptions {
  DeviceBytes given = {};     // --budget cpu=16GiB,cuda:0=20GiB
  DeviceBytes reserves = {};  // --reserve, the same way
  bool live = false;          // what is free now counts as a fact
};

// Of each device, in order. kInvalid: an option names a device that is not there, with those that
// are, or one twice.
Result<std::vector<Budget>> BudgetsOf(const std::vector<DeviceInfo>& devices,
                                      const BudgetOptions& options);

// Whether an integrated device's memory is the host's own.
bool SharesHost(const DeviceInfo& device);

// "cpu=16GiB,cuda:0=20GiB": units KiB, MiB, GiB, TiB, KB, MB, GB, TB; a number without one is
// kInvalid, as is a device named twice or more than kMostBudgetBytes.
Result<DeviceBytes> ParseBudgets(std::string_view text);

// The budget of a device; null: none is listed.
const Budget* FindBudget(const std::vector<Budget>& budgets, std::string_view device);

}  // namespace vt
