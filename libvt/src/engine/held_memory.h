// Memory that a device may still be reading when its engine goes.
#pragma once

#include <cstdint>
#include <memory>

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

  Result<void*> Allocate(std::uint64_t bytes) override { return memory_->Allocate(bytes); }
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
  bool quarantined_ = false;
};

}  // namespace vt
