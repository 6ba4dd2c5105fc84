#include "engine/held_memory.h"

#include <mutex>
#include <utility>
#include <vector>

namespace vt {
namespace {

struct Quarantined {
  std::mutex mutex;
  std::vector<std::unique_ptr<DeviceMemory>> memories;
};

// Never destroyed: what it holds is not to be freed.
Quarantined& All() {
  static auto* const all = new Quarantined;
  return *all;
}

}  // namespace

HeldMemory::~HeldMemory() {
  if (!quarantined_) return;
  const std::lock_guard lock(All().mutex);
  All().memories.push_back(std::move(memory_));
}

std::uint64_t HeldMemory::quarantined_bytes() {
  const std::lock_guard lock(All().mutex);
  std::uint64_t bytes = 0;
  for (const std::unique_ptr<DeviceMemory>& memory : All().memories) {
    bytes += memory->bytes_in_use();
  }
  return bytes;
}

}  // namespace vt
