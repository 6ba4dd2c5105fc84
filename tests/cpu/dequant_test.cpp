// Decoding of every block format against the values that other software decodes from the same bytes
// (tests/data/quants), bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cpu/quants/dequantize.h"
#include "support/test_files.h"

namespace vt {
namespace {

std::uint32_t BitsOf(float f) {
  std::uint32_t bits;
  std::memcpy(&bits, &f, sizeof(bits));
  return bits;
}

TEST(DequantTest, MatchesOracleBitForBit) {
  const auto index = nlohmann::json::parse(test::ReadFile(test::DataPath("quants/index.json")));
  const std::int64_t rows = index["rows"];
  const std::int64_t cols = index["cols"];
  int formats = 0;
  for (const auto& entry : index["types"]) {
    const std::string name = entry["name"];
    SCOPED_TRACE(name);
    const DTypeInfo* info = FindDType(entry["id"].get<std::uint32_t>());
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->block, entry["block"].get<std::uint32_t>());
    EXPECT_EQ(info->block_bytes, entry["block_bytes"].get<std::uint32_t>());
    const std::string blocks = test::ReadFile(test::DataPath("quants/" + name + ".blocks"));
    const std::string want = test::ReadFile(test::DataPath("quants/" + name + ".f32"));
    const std::uint64_t row_bytes = RowBytes(info->type, static_cast<std::uint64_t>(cols));
    ASSERT_EQ(blocks.size(), static_cast<std::size_t>(rows) * row_bytes);
    ASSERT_EQ(want.size(), static_cast<std::size_t>(rows * cols) * sizeof(float));
    ASSERT_NE(FindDequantize(info->type), nullptr);

    // From an odd address: blocks in a file have no alignment.
    std::vector<char> odd(blocks.size() + 1);
    std::memcpy(odd.data() + 1, blocks.data(), blocks.size());
    std::vector<float> got(static_cast<std::size_t>(rows * cols));
    for (std::int64_t r = 0; r < rows; ++r) {
      DequantizeRow(info->type, odd.data() + 1 + static_cast<std::uint64_t>(r) * row_bytes,
                    got.data() + r * cols, cols);
    }
    int wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      float expected;
      std::memcpy(&expected, want.data() + i * sizeof(float), sizeof(float));
      // Zeros may differ in sign: some software multiplies a zero by a negative scale.
      if (BitsOf(got[i]) == BitsOf(expected) || (got[i] == 0 && expected == 0)) continue;
      if (++wrong <= 3)
        ADD_FAILURE() << "value " << i << ": want " << expected << ", got " << got[i];
    }
    EXPECT_EQ(wrong, 0);
    ++formats;
  }
  EXPECT_EQ(formats, 25);
}

TEST(DequantTest, HalfTypesCoverSpecialValues) {
  const std::uint16_t halves[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x0001, 0x03ff,
                                  0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
  const float inf = std::numeric_limits<float>::infinity();
  const float want[] = {0.0f,         -0.0f,    1.0f,     -2.0f, 0x1p-24f,
                        0x1.ff8p-15f, 0x1p-14f, 65504.0f, inf,   -inf};
  float got[11];
  DequantizeRow(DType::kF16, halves, got, 11);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(BitsOf(got[i]), BitsOf(want[i])) << i;
  EXPECT_TRUE(std::isnan(got[10]));

  const std::uint16_t bfloats[] = {0x3f80, 0xc000, 0x7f80, 0x0001, 0x7fc0};
  DequantizeRow(DType::kBF16, bfloats, got, 5);
  EXPECT_EQ(got[0], 1.0f);
  EXPECT_EQ(got[1], -2.0f);
  EXPECT_EQ(got[2], inf);
  EXPECT_EQ(BitsOf(got[3]), 0x00010000u);
  EXPECT_TRUE(std::isnan(got[4]));
}

TEST(DequantTest, EveryWeightTypeHasADecoder) {
  for (const DTypeInfo& info : AllDTypes()) {
    const bool integer = info.name[0] == 'i' && info.name[1] != 'q';
    const bool weight = !integer && info.type != DType::kF64;
    EXPECT_EQ(FindDequantize(info.type) != nullptr, weight) << info.name;
    if (weight) DequantizeRow(info.type, nullptr, nullptr, 0);
  }
}

}  // namespace
}  // namespace vt
