#include "cpu/quants/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/quants/dequantize.h"
#include "cpu/quants/quantize_formats.h"

namespace vt {
namespace {

using EncodeBlock = void (*)(const float* x, std::uint8_t* block);

constexpr float kMaxHalf = 65504.0f;
constexpr float kMaxFloat = 0x1.fffffep127f;

struct Encoder {
  EncodeBlock encode = nullptr;
  float limit = kMaxHalf;  // magnitudes that its scales are sure to reach
  bool searched = false;
};

void EncodeF32(const float* x, std::uint8_t* block) { std::memcpy(block, x, sizeof *x); }

Encoder EncoderOf(DType type) {
  switch (type) {
    case DType::kF32:
      return {EncodeF32, kMaxFloat};
    case DType::kF16:
      return {EncodeF16};
    case DType::kBF16:
      return {EncodeBf16, 0x1.fep127f};
    case DType::kF8_E4M3:
      return {EncodeF8E4M3, 448.0f};
    case DType::kQ4_0:
      return {EncodeQ4_0};
    case DType::kQ4_1:
      return {EncodeQ4_1};
    case DType::kQ5_0:
      return {EncodeQ5_0};
    case DType::kQ5_1:
      return {EncodeQ5_1};
    case DType::kQ8_0:
      return {EncodeQ8_0};
    case DType::kTQ1_0:
      return {EncodeTq1_0};
    case DType::kTQ2_0:
      return {EncodeTq2_0};
    case DType::kMXFP4:
      return {EncodeMxfp4, kMaxFloat};
    case DType::kNVFP4:
      return {EncodeNvfp4, 6 * 448.0f, true};
    case DType::kQ1_0:
      return {EncodeQ1_0};
    case DType::kQ2_0:
      return {EncodeQ2_0, kMaxHalf, true};
    case DType::kQ2_K:
      return {EncodeQ2K, kMaxHalf, true};
    case DType::kQ3_K:
      return {EncodeQ3K, kMaxHalf, true};
    case DType::kQ4_K:
      return {EncodeQ4K, kMaxHalf, true};
    case DType::kQ5_K:
      return {EncodeQ5K, kMaxHalf, true};
    case DType::kQ6_K:
      return {EncodeQ6K, kMaxHalf, true};
    case DType::kIQ4_NL:
      return {EncodeIq4Nl, kMaxHalf, true};
    case DType::kIQ4_XS:
      return {EncodeIq4Xs, kMaxHalf, true};
    case DType::kIQ1_S:
      return {EncodeIq1S, kMaxHalf, true};
    case DType::kIQ1_M:
      return {EncodeIq1M, kMaxHalf, true};
    case DType::kIQ2_XXS:
      return {EncodeIq2Xxs, kMaxHalf, true};
    case DType::kIQ2_XS:
      return {EncodeIq2Xs, kMaxHalf, true};
    case DType::kIQ2_S:
      return {EncodeIq2S, kMaxHalf, true};
    case DType::kIQ3_XXS:
      return {EncodeIq3Xxs, kMaxHalf, true};
    case DType::kIQ3_S:
      return {EncodeIq3S, kMaxHalf, true};
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF64:
      return {};
  }
  return {};
}

std::string Text(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
  return text;
}

// A search that is given what a block decodes to may miss that block. It is asked again with what
// its answer decodes to, until an answer comes that came before; of the answers since then, which
// lead to each other in a ring, the least is taken. So quantising twice is quantising once.
void EncodeSettled(EncodeBlock encode, DType type, const float* x, std::uint8_t* block) {
  constexpr std::size_t kRounds = 100;
  const DTypeInfo& info = InfoOf(type);
  const DequantizeFn decode = FindDequantize(type);
  std::vector<std::vector<float>> answers;
  encode(x, block);
  while (answers.size() < kRounds) {
    std::vector<float> answer(info.block);
    decode(block, answer.data(), static_cast<std::int64_t>(info.block));
    const auto before = std::find(answers.begin(), answers.end(), answer);
    if (before != answers.end()) {
      const auto chosen = std::min_element(before, answers.end());
      const auto leads_to_it = (chosen == before ? answers.end() : chosen) - 1;
      encode(leads_to_it->data(), block);
      return;
    }
    encode(answer.data(), block);
    answers.push_back(std::move(answer));
  }
}

}  // namespace

bool CanQuantize(DType type) { return EncoderOf(type).encode != nullptr; }

Status QuantizeRow(DType type, const float* x, void* blocks, std::int64_t n) {
  const DTypeInfo& info = InfoOf(type);
  const std::string name(info.name);
  const Encoder encoder = EncoderOf(type);
  if (!encoder.encode) {
    return InvalidError(name + ": no weights have this type; name a float or block type");
  }
  const auto block = static_cast<std::int64_t>(info.block);
  if (n < 0 || n % block != 0) {
    return InvalidError(name + ": " + std::to_string(n) +
                        " values are no whole number of blocks (" + std::to_string(block) +
                        " values each)");
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::abs(x[i]) <= encoder.limit) continue;
    const bool finite = std::isfinite(x[i]);
    return InvalidError(name + ": value " + std::to_string(i) + " is " + Text(x[i]) +
                        (finite ? ", past what it can hold (up to " + Text(encoder.limit) + ")"
                                : "; weights must be finite"));
  }
  auto* out = static_cast<std::uint8_t*>(blocks);
  for (std::int64_t i = 0; i < n; i += block, out += info.block_bytes) {
    if (encoder.searched) {
      EncodeSettled(encoder.encode, type, x + i, out);
    } else {
      encoder.encode(x + i, out);
    }
  }
  return {};
}

}  // namespace vt
