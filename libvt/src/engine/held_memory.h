// Memory that a device may still be reading when its engine goes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/device_memory.h"

namespace vt {

// A device's memory that can be quarantined: nothing of it is freed from then on, before the
// process ends.
class HeldMemory : public DeviceMemory {
 public:
  explicit HeldMemory(std::unique_ptr<DeviceMemory> memory) : memory_(std::move(memory)) {}
  ~HeldMemory() override;

  void Quarantine() { quarantined_ = true; }
  // Of all devices whose memory was quarantined and whose holder has gone.
  static std::uint64_t quarantined_bytes();

  // The most that was in use at once since the previous call.
  std::uint64_t TakePeak() { return std::exchange(peak_bytes_, bytes_in_use()); }

  Result<void*> Allocate(std::uint64_t bytes) override {
    Result<void*> memory = memory_->Allocate(bytes);
    peak_bytes_ = std::max(peak_bytes_, bytes_in_use());
    return memory;
  }
  void Free(void* memory) override {
    if (!quarantined_) memory_->Free(memory);
  }
  Status Upload(void* to, const void* from, std::uint64_t bytes) override {
    return memory_->Upload(to, from, bytes);
  }
  Status Download(void* to, const void* from, std::uint64_t bytes) override {
    return memory_->Download(to, from, bytes);
  }
  std::uint64_t bytes_in_use() const override { return memory_->bytes_in_use(); }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  std::uint64_t peak_bytes_ = 0;
  bool quarantined_ = false;
};

}  // namespace vt
