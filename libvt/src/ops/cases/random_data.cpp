#include "ops/cases/random_data.h"

#include <cstring>
#include <initializer_list>

#include "cpu/generic/half.h"

namespace vt {
namespace {

void PutHalf(std::uint8_t* at, std::uint16_t half) { std::memcpy(at, &half, sizeof half); }

// Where a block keeps its f16 scales.
std::initializer_list<int> ScalesOf(DType type) {
  static constexpr std::initializer_list<int> kFirst = {0};
  static constexpr std::initializer_list<int> kFirstTwo = {0, 2};
  static constexpr std::initializer_list<int> kQ2K = {80, 82};
  static constexpr std::initializer_list<int> kQ3K = {108};
  static constexpr std::initializer_list<int> kQ6K = {208};
  static constexpr std::initializer_list<int> kTq1 = {52};
  static constexpr std::initializer_list<int> kTq2 = {64};
  static constexpr std::initializer_list<int> kNone = {};
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return kFirstTwo;
    case DType::kQ2_K:
      return kQ2K;
    case DType::kQ3_K:
      return kQ3K;
    case DType::kQ6_K:
      return kQ6K;
    case DType::kTQ1_0:
      return kTq1;
    case DType::kTQ2_0:
      return kTq2;
    case DType::kIQ1_M:
    case DType::kMXFP4:
    case DType::kNVFP4:
      return kNone;
    default:
      return InfoOf(type).block > 1 ? kFirst : kNone;
  }
}

// The bits of a block that random ones could make an infinity, a NaN or a very large number.
void Moderate(DType type, std::uint8_t* block, RandomData& random) {
  for (const int at : ScalesOf(type)) PutHalf(block + at, F32ToF16(random.Uniform(-0.05f, 0.05f)));
  switch (type) {
    case DType::kF32: {
      const float value = random.Uniform(-1, 1);
      std::memcpy(block, &value, sizeof value);
      break;
    }
    case DType::kF64: {
      const double value = random.Uniform(-1, 1);
      std::memcpy(block, &value, sizeof value);
      break;
    }
    case DType::kF16:
      PutHalf(block, F32ToF16(random.Uniform(-1, 1)));
      break;
    case DType::kBF16:
      PutHalf(block, F32ToBf16(random.Uniform(-1, 1)));
      break;
    case DType::kF8_E4M3:
      if ((*block & 0x7f) == 0x7f) *block ^= 1;  // NaN
      break;
    case DType::kIQ1_M: {  // the scale lies in the top halves of four bytes
      const std::uint16_t half = F32ToF16(random.Uniform(-0.05f, 0.05f));
      for (int i = 0; i < 4; ++i) {
        std::uint8_t& top = block[48 + 2 * i + 1];
        top = static_cast<std::uint8_t>((top & 0x0f) | (half >> (4 * i) & 15) << 4);
      }
      break;
    }
    case DType::kMXFP4:  // an exponent, of 2^-7 to 2^0
      block[0] = static_cast<std::uint8_t>(120 + random.Below(8));
      break;
    case DType::kNVFP4:  // exponents of 2^-6 to 2^1
      for (int i = 0; i < 4; ++i) block[i] &= 0x3f;
      break;
    default:
      break;
  }
}

}  // namespace

std::uint64_t RandomData::Bits() {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float RandomData::Uniform(float low, float high) {
  return low + static_cast<float>(Bits() >> 40) * 0x1p-24f * (high - low);
}

std::vector<std::uint8_t> RandomBlocks(DType type, std::int64_t blocks, RandomData& random) {
  const std::size_t size = InfoOf(type).block_bytes;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(blocks) * size);
  for (std::size_t block = 0; block < bytes.size(); block += size) {
    for (std::size_t at = block; at < block + size; at += 8) {
      std::uint64_t bits = random.Bits();
      // Now and then the extreme bytes, which random bits seldom line up.
      if (bits % 8 == 0) bits = bits & 64 ? ~std::uint64_t{0} : 0x8080808080808080u;
      std::memcpy(bytes.data() + at, &bits, size - (at - block) < 8 ? size - (at - block) : 8);
    }
    Moderate(type, bytes.data() + block, random);
  }
  return bytes;
}

}  // namespace vt
