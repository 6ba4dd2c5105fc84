#include "base/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace vt {

Result<Arena> Arena::Create(std::uint64_t bytes) {
  Arena arena;
  if (bytes == 0) return arena;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return NoMemoryError("the system refused " + std::to_string(bytes) + " bytes (" +
                         std::strerror(errno) + ")");
  }
  arena.base_ = static_cast<std::byte*>(base);
  arena.capacity_ = bytes;
  return arena;
}

Arena::~Arena() {
  if (base_) munmap(base_, capacity_);
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(capacity_, other.capacity_);
  std::swap(taken_, other.taken_);
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
