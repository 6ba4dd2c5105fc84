// Made-up inputs for kernels: the same on every machine, for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vt/dtype.h"

namespace vt {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
class RandomData {
 public:
  explicit RandomData(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Bits();
  std::uint64_t Below(std::uint64_t count) { return Bits() % count; }
  float Uniform(float low, float high);  // [low, high)

 private:
  std::uint64_t state_;
};

// `blocks` blocks of a type: any bits where they decode to numbers of moderate size, scales chosen
// so that they do. Types that hold no weights get any bits.
std::vector<std::uint8_t> RandomBlocks(DType type, std::int64_t blocks, RandomData& random);

}  // namespace vt
