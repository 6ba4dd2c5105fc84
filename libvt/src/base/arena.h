// A block of memory that is carved up once and given back whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace vt {

inline constexpr std::uint64_t kArenaAlignment = 64;
constexpr std::uint64_t AlignUp(std::uint64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  // Carves `bytes` at `base`; `release` is called once, when the arena goes.
  Arena(void* base, std::uint64_t bytes, std::function<void(void*)> release);

  // The next `bytes`, aligned to 64; null when fewer are left.
  void* Take(std::uint64_t bytes);
  template <class T>
  T* TakeArray(std::int64_t count) {
    return static_cast<T*>(Take(static_cast<std::uint64_t>(count) * sizeof(T)));
  }

  std::byte* data() const { return base_; }
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t taken() const { return taken_; }

 private:
  std::byte* base_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t taken_ = 0;
  std::function<void(void*)> release_;
};

}  // namespace vt
