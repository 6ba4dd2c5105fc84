#include "device/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "device/gpu_probe.h"

namespace vt {
namespace {

// Host pages, with a limit and a fault where the device is simulated.
class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(const DeviceInfo& device) : id_(device.id) {
    if (device.kind != DeviceKind::kSim) return;
    for (const MemoryFact* fact : {&device.memory_total, &device.memory_ceiling}) {
      if (fact->bytes) limit_ = std::min(limit_, *fact->bytes);
    }
    if (device.sim && device.sim->fail_at_byte) fault_ = *device.sim->fail_at_byte;
  }
  ~HostMemory() override {
    for (const auto& [memory, bytes] : blocks_) munmap(memory, Mapped(bytes));
  }

  Result<void*> Allocate(std::uint64_t bytes) override {
    if (bytes > fault_ - std::min(fault_, used_)) {
      return Refused(bytes, "the allocation fails there (its profile says so)");
    }
    if (bytes > limit_ - std::min(limit_, used_)) {
      return Refused(bytes, "it has " + std::to_string(limit_) + " bytes");
    }
    void* memory =
        mmap(nullptr, Mapped(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return Refused(bytes, std::strerror(errno));
    blocks_.emplace(memory, bytes);
    used_ += bytes;
    return memory;
  }

  void Free(void* memory) override {
    const auto block = blocks_.find(memory);
    if (block == blocks_.end()) return;
    munmap(memory, Mapped(block->second));
    used_ -= block->second;
    blocks_.erase(block);
  }

  Status Upload(void* to, const void* from, std::uint64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return {};
  }
  Status Download(void* to, const void* from, std::uint64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return {};
  }
  std::uint64_t bytes_in_use() const override { return used_; }

 private:
  // A mapping of nothing is refused by the system.
  static std::uint64_t Mapped(std::uint64_t bytes) { return std::max<std::uint64_t>(bytes, 1); }

  Status Refused(std::uint64_t bytes, const std::string& why) const {
    return NoMemoryError("device " + id_ + ": cannot allocate " + std::to_string(bytes) +
                         " bytes, " + std::to_string(used_) + " in use: " + why);
  }

  std::string id_;
  std::uint64_t limit_ = UINT64_MAX;
  std::uint64_t fault_ = UINT64_MAX;
  std::uint64_t used_ = 0;
  std::map<void*, std::uint64_t> blocks_;  // bytes asked for
};

}  // namespace

Result<std::unique_ptr<DeviceMemory>> OpenDeviceMemory(const DeviceInfo& device) {
  if (device.described) {
    return UnsupportedError("device " + device.id +
                            ": described by a document, not present; nothing can be held there");
  }
  if (device.kind == DeviceKind::kCuda || device.kind == DeviceKind::kHip) {
    return OpenGpuMemory(device);
  }
  return std::unique_ptr<DeviceMemory>(std::make_unique<HostMemory>(device));
}

Result<Arena> MakeArena(DeviceMemory& memory, std::uint64_t bytes) {
  if (bytes == 0) return Arena();
  VT_ASSIGN_OR_RETURN(void* base, memory.Allocate(bytes));
  return Arena(base, bytes, [&memory](void* block) { memory.Free(block); });
}

}  // namespace vt
