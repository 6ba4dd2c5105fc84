// The vocabulary of rt.h on the host: kernels run in the emulator, and every access to memory is
// held to the bounds of its View.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <type_traits>

#include "gpu/emulator.h"

#define VT_KERNEL inline void
#define VT_DEVICE inline
#define VT_UNROLL
// Each pair of braces has a type of its own, which names the array within the block.
#define VT_SHARED(Type, name, count) \
  const auto name = ::vt::gpu_sim::SharedArray<Type>([] {}, count)
#define VT_DYNAMIC_SHARED(Type, name, count) \
  const auto name = ::vt::gpu_sim::DynamicShared<Type>(count)

namespace vt::gpu_sim {

// `size` values that a kernel may touch. An access beside them is recorded and has no effect: a
// read gives zero, a write is dropped.
template <class T>
class View {
  using Value = std::remove_const_t<T>;

  class Place {
   public:
    Place(const View& view, std::int64_t i) : view_(view), i_(i) {}
    operator Value() const { return view_.Read(i_); }  // NOLINT(google-explicit-constructor)
    // NOLINTBEGIN(misc-unconventional-assign-operator): a place is written to, not changed.
    const Place& operator=(Value value) const {
      if (view_.Holds(i_)) {
        view_.data_[i_] = value;
      } else {
        RecordAccess({"write", i_, view_.size_, sizeof(T)});
      }
      return *this;
    }
    const Place& operator=(const Place& other) const { return *this = static_cast<Value>(other); }
    // NOLINTEND(misc-unconventional-assign-operator)

   private:
    const View& view_;
    std::int64_t i_;
  };

 public:
  View(T* data, std::int64_t size) : data_(data), size_(data ? size : 0) {}
  auto operator[](std::int64_t i) const {
    if constexpr (std::is_const_v<T>) {
      return Read(i);
    } else {
      return Place(*this, i);
    }
  }
  explicit operator bool() const { return data_ != nullptr; }
  template <class U>
  U Load(std::int64_t at) const {
    U value{};
    const auto bytes = size_ * static_cast<std::int64_t>(sizeof(T));
    const auto* from = reinterpret_cast<const unsigned char*>(data_) + at;
    if (at < 0 || at > bytes - static_cast<std::int64_t>(sizeof(U))) {
      RecordAccess({"read", at, bytes, 1, sizeof(U)});
    } else if (reinterpret_cast<std::uintptr_t>(from) % sizeof(U) != 0) {
      RecordAccess({"misaligned read", at, bytes, 1, sizeof(U)});
    } else {
      std::memcpy(&value, from, sizeof(U));
    }
    return value;
  }

 private:
  bool Holds(std::int64_t i) const {
    return static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(size_);
  }
  Value Read(std::int64_t i) const {
    if (Holds(i)) return data_[i];
    RecordAccess({"read", i, size_, sizeof(T)});
    return Value{};
  }

  T* data_;
  std::int64_t size_;
};

template <class T, class Name>
View<T> SharedArray(Name, std::int64_t count) {
  static const char key = 0;
  return {static_cast<T*>(SharedMemory(&key, static_cast<std::size_t>(count) * sizeof(T))), count};
}
// As many values as the launch's shared_bytes hold may be touched, `count` at most.
template <class T>
View<T> DynamicShared(std::int64_t count) {
  const SharedBytes all = DynamicSharedMemory();
  const std::int64_t held = all.bytes / static_cast<std::int64_t>(sizeof(T));
  return {static_cast<T*>(all.data), count < held ? count : held};
}

template <class T>
T Shuffle(ShuffleKind kind, T value, int operand) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = ShuffleBits(kind, bits, operand);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
T ShuffleXor(T value, int mask) {
  return Shuffle(ShuffleKind::kXor, value, mask);
}
template <class T>
T ShuffleDown(T value, int delta) {
  return Shuffle(ShuffleKind::kDown, value, delta);
}

inline float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float SquareRoot(float x) { return __builtin_sqrtf(x); }
inline float FloatFromBits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline std::uint32_t BitsOfFloat(float x) { return __builtin_bit_cast(std::uint32_t, x); }
inline float Infinity() { return __builtin_inff(); }

template <class... Params, class... Args>
Status Launch(GpuStream& stream, const char* name, LaunchShape shape, void (*kernel)(Params...),
              Args... args) {
  return RunEmulated(stream, name, {shape.blocks, shape.threads, shape.shared_bytes},
                     [&] { kernel(Params(args)...); });
}

}  // namespace vt::gpu_sim
