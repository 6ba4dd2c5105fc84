#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "device/cgroup.h"
#include "device/numa_memory.h"
#include "device/probe.h"
#include "device/sysfs.h"

namespace vt {
namespace {

MemoryFact FromMeminfo(const std::string& root, std::string_view key) {
  const auto bytes = ReadKilobytes(root + "/proc/meminfo", "", key);
  if (!bytes) return {};
  return {*bytes, std::string("/proc/meminfo ").append(key)};
}

}  // namespace

MemoryFact MemoryTotal(const std::string& root) { return FromMeminfo(root, "MemTotal"); }
MemoryFact MemAvailable(const std::string& root) { return FromMeminfo(root, "MemAvailable"); }

MemoryFact AvailableMemory(const std::string& root) {
  MemoryFact available = MemAvailable(root);
  std::array rooms = {CgroupRoom(root), BoundNodesRoom(root)};
  for (MemoryFact& room : rooms) {
    if (!room.bytes) continue;
    if (!available.bytes || *room.bytes < *available.bytes) available = std::move(room);
  }
  return available;
}

MemoryFact MemoryReserve(const MemoryFact& total, const MemoryFact& limit) {
  constexpr std::uint64_t kLeast = std::uint64_t{256} << 20;
  if (!total.bytes && !limit.bytes) return {};
  const std::uint64_t whole = std::min(total.bytes.value_or(UINT64_MAX),  //
                                       limit.bytes.value_or(UINT64_MAX));
  return {std::max(kLeast, whole / 50), "vt: left to the rest of the machine"};
}

MemoryFact DeviceInfo::memory_usable() const {
  const MemoryFact* smallest = nullptr;
  for (const MemoryFact* fact : {&memory_total, &memory_available, &memory_ceiling}) {
    if (fact->bytes && (smallest == nullptr || *fact->bytes < *smallest->bytes)) smallest = fact;
  }
  if (smallest == nullptr) return {};
  const std::uint64_t reserve = memory_reserve.bytes.value_or(0);
  if (reserve == 0) return *smallest;
  return {*smallest->bytes - std::min(*smallest->bytes, reserve),
          smallest->source + " less the reserve"};
}

}  // namespace vt
