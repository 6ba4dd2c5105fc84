// What the matmul, quantize and embed tests share: memory that faults when overrun, random weights
// of every type, and the kernels this machine can run.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cpu/generic/half.h"
#include "cpu/kernel_harness.h"
#include "cpu/quants/dequantize.h"
#include "support/test_files.h"

namespace vt::test {

// `count` values that end at a page that may not be touched, with another such page in front.
template <class T>
class Paged {
 public:
  explicit Paged(std::int64_t count)
      : count_(count), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    inner_ = (bytes + page_ - 1) / page_ * page_;
    void* map = mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(map);
    if (inner_ > 0) mprotect(base_ + page_, inner_, PROT_READ | PROT_WRITE);
    // Bytes in front of the data hold a pattern that Intact() looks for.
    std::memset(base_ + page_, 0xa5, inner_);
    data_ = reinterpret_cast<T*>(base_ + page_ + inner_ - bytes);
  }
  Paged(const Paged&) = delete;
  Paged& operator=(const Paged&) = delete;
  ~Paged() { munmap(base_, inner_ + 2 * page_); }

  T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  T& operator[](std::int64_t i) const { return data_[i]; }
  bool Intact() const {
    for (const char* p = base_ + page_; p < reinterpret_cast<const char*>(data_); ++p) {
      if (static_cast<unsigned char>(*p) != 0xa5) return false;
    }
    return true;
  }

 private:
  std::int64_t count_;
  std::size_t page_;
  std::size_t inner_;
  char* base_;
  T* data_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  float Uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(engine_);
  }
  std::uint32_t Bits() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

// The types that matmul takes.
inline std::vector<DType> WeightTypes() {
  std::vector<DType> types;
  for (const DTypeInfo& info : AllDTypes()) {
    if (FindDequantize(info.type) && info.type != DType::kF8_E4M3) types.push_back(info.type);
  }
  return types;
}

// Where a block keeps its f16 numbers; empty for types whose random bytes need other care.
inline std::vector<int> HalfOffsets(DType type) {
  switch (type) {
    case DType::kQ4_0:
    case DType::kQ5_0:
    case DType::kQ8_0:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return {0};
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108};
    case DType::kQ6_K:
      return {208};
    default:
      return {};
  }
}

// Fills `rows` rows of `cols` weights: random bits under moderate scales where HalfOffsets knows
// the layout, else blocks of tests/data/quants in random order.
inline void FillWeights(DType type, std::int64_t rows, std::int64_t cols, std::uint8_t* out,
                        Random& random) {
  const DTypeInfo& info = InfoOf(type);
  const std::int64_t blocks = rows * cols / info.block;
  const std::vector<int> halves = HalfOffsets(type);
  std::string sample;
  if (halves.empty() && info.block > 1) {
    sample = ReadFile(DataPath("quants/" + std::string(info.name) + ".blocks"));
  }
  for (std::int64_t b = 0; b < blocks; ++b, out += info.block_bytes) {
    if (type == DType::kF32) {
      const float value = random.Uniform(-1, 1);
      std::memcpy(out, &value, sizeof(value));
    } else if (type == DType::kF16 || type == DType::kBF16) {
      const float value = random.Uniform(-1, 1);
      const std::uint16_t half = type == DType::kF16 ? F32ToF16(value) : F32ToBf16(value);
      std::memcpy(out, &half, sizeof(half));
    } else if (!halves.empty()) {
      for (std::uint32_t i = 0; i < info.block_bytes; ++i) {
        // Now and then the extreme bytes, which random bits seldom line up.
        const std::uint32_t bits = random.Bits();
        out[i] = static_cast<std::uint8_t>(bits % 8 == 0 ? (bits & 8 ? 0xff : 0x80) : bits >> 8);
      }
      for (const int at : halves) {
        const std::uint16_t half = F32ToF16(random.Uniform(-0.05f, 0.05f));
        std::memcpy(out + at, &half, sizeof(half));
      }
    } else {
      const std::size_t count = sample.size() / info.block_bytes;
      std::memcpy(out, sample.data() + random.Bits() % count * info.block_bytes, info.block_bytes);
    }
  }
}

template <class Args>
const Kernel<Args>& Reference(const std::string& name) {
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (kernel.name == name) return kernel;
  }
  throw std::runtime_error("no kernel " + name);
}

// The kernels that take `args` and that this machine has the instructions for.
template <class Args>
std::vector<const Kernel<Args>*> Usable(const Args& args) {
  std::vector<const Kernel<Args>*> out;
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (kernel.run && (kernel.needs & ~MachineFeatures()) == 0 && kernel.supports(args).yes) {
      out.push_back(&kernel);
    }
  }
  return out;
}

}  // namespace vt::test
