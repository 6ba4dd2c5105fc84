#include "base/arena.h"

#include <utility>

namespace vt {

Arena::Arena(void* base, std::uint64_t bytes, std::function<void(void*)> release)
    : base_(static_cast<std::byte*>(base)), capacity_(bytes), release_(std::move(release)) {}

Arena::~Arena() {
  if (base_) release_(base_);
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(capacity_, other.capacity_);
  std::swap(taken_, other.taken_);
  std::swap(release_, other.release_);
  return *this;
}

void* Arena::Take(std::uint64_t bytes) {
  const std::uint64_t rounded = AlignUp(bytes);
  if (rounded < bytes || rounded > capacity_ - taken_) return nullptr;
  void* out = base_ + taken_;
  taken_ += rounded;
  return out;
}

}  // namespace vt
