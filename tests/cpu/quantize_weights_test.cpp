// f32 to every weight type: bytes where converters settle them, errors no larger than those of
// other software (tests/data/quants/quantize.json), and values that stay what they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cpu/quants/dequantize.h"
#include "cpu/quants/quantize.h"
#include "ops/cases/random_data.h"
#include "support/test_files.h"

namespace vt {
namespace {

std::vector<float> Floats(const std::string& name) {
  const std::string bytes = test::ReadFile(test::DataPath("quants/" + name));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

nlohmann::json Expected() {
  return nlohmann::json::parse(test::ReadFile(test::DataPath("quants/quantize.json")));
}

// Standard normal values (Box and Muller).
std::vector<float> Normal(std::size_t count, std::uint64_t seed) {
  RandomData random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const float radius = std::sqrt(-2 * std::log(1 - random.Uniform(0, 1)));
    value = radius * std::cos(6.2831853f * random.Uniform(0, 1));
  }
  return values;
}

std::vector<std::uint8_t> Quantized(DType type, const std::vector<float>& x) {
  std::vector<std::uint8_t> blocks(RowBytes(type, x.size()));
  const Status status =
      QuantizeRow(type, x.data(), blocks.data(), static_cast<std::int64_t>(x.size()));
  EXPECT_TRUE(status.ok()) << status.message();
  return blocks;
}

std::vector<float> Decoded(DType type, const std::vector<std::uint8_t>& blocks) {
  const DTypeInfo& info = InfoOf(type);
  std::vector<float> values(blocks.size() / info.block_bytes * info.block);
  DequantizeRow(type, blocks.data(), values.data(), static_cast<std::int64_t>(values.size()));
  return values;
}

double Nmse(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0, all = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double off = double{got[i]} - double{want[i]};
    error += off * off;
    all += double{want[i]} * double{want[i]};
  }
  return error / all;
}

std::vector<DType> WeightTypes() {
  std::vector<DType> types;
  for (const DTypeInfo& info : AllDTypes()) {
    EXPECT_EQ(CanQuantize(info.type), FindDequantize(info.type) != nullptr) << info.name;
    if (CanQuantize(info.type)) types.push_back(info.type);
  }
  return types;
}

TEST(QuantizeWeights, SettledFormatsHaveTheBytesOfConverters) {
  const std::vector<float> x = Floats("exact.f32");
  const auto types = Expected()["exact"]["types"];
  EXPECT_EQ(types.size(), 10u);
  for (const std::string name : types) {
    SCOPED_TRACE(name);
    const DTypeInfo* info = FindDType(name);
    ASSERT_NE(info, nullptr);
    const std::string want = test::ReadFile(test::DataPath("quants/exact." + name));
    const std::vector<std::uint8_t> got = Quantized(info->type, x);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(int{got[i]}, int{static_cast<std::uint8_t>(want[i])})
          << "byte " << i % info->block_bytes << " of block " << i / info->block_bytes;
    }
  }
}

TEST(QuantizeWeights, ErrorsAreNoLargerThanThoseOfOtherSoftware) {
  const auto nmse = Expected()["nmse"];
  const std::vector<float> source = Floats("source.f32");
  const std::vector<float> normal = Normal(std::size_t{1} << 14, 7);
  int types = 0;
  for (const auto& [name, reference] : nmse.items()) {
    const DTypeInfo* info = FindDType(name);
    ASSERT_NE(info, nullptr) << name;
    const double on_normal = Nmse(Decoded(info->type, Quantized(info->type, normal)), normal);
    const double on_source = Nmse(Decoded(info->type, Quantized(info->type, source)), source);
    EXPECT_LE(on_normal, 1.05 * reference["gaussian"].get<double>()) << name;
    EXPECT_LE(on_source, 1.05 * reference["source"].get<double>()) << name;
    ++types;
  }
  EXPECT_EQ(types, 25);
}

TEST(QuantizeWeights, FloatTypesRoundToNearest) {
  const std::vector<float> x = Normal(4096, 8);
  EXPECT_EQ(Decoded(DType::kF32, Quantized(DType::kF32, x)), x);
  // Half a unit of the last of 11, 8 and 4 significant bits.
  for (const auto& [type, limit] :
       {std::pair(DType::kF16, 0x1p-11f), {DType::kBF16, 0x1p-8f}, {DType::kF8_E4M3, 0x1p-4f}}) {
    const std::vector<float> got = Decoded(type, Quantized(type, x));
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(std::abs(got[i] - x[i]), limit * std::max(std::abs(x[i]), 0x1p-6f)) << NameOf(type);
    }
  }
}

TEST(QuantizeWeights, EightBitFloatsAreTheNearestTiesToEven) {
  // All finite numbers, and the points between neighbours.
  for (int code = 0; code < 0x7e; ++code) {
    const auto low = static_cast<std::uint8_t>(code), high = static_cast<std::uint8_t>(code + 1);
    const float a = Decoded(DType::kF8_E4M3, {low})[0], b = Decoded(DType::kF8_E4M3, {high})[0];
    const float middle = (a + b) / 2;
    const std::uint8_t even = code % 2 ? high : low;
    const std::vector<float> x = {a, middle, std::nextafter(middle, 0.0f),
                                  std::nextafter(middle, 1e9f), -b};
    const std::vector<std::uint8_t> want = {low, even, low, high,
                                            static_cast<std::uint8_t>(high | 0x80)};
    EXPECT_EQ(Quantized(DType::kF8_E4M3, x), want) << code;
  }
}

TEST(QuantizeWeights, TwiceIsOnce) {
  std::vector<float> x = Normal(std::size_t{1} << 12, 9);
  const std::vector<float> source = Floats("source.f32");
  x.insert(x.end(), source.begin(), source.end());
  for (const DType type : WeightTypes()) {
    const std::vector<float> once = Decoded(type, Quantized(type, x));
    const std::vector<float> twice = Decoded(type, Quantized(type, once));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < once.size(); ++i) wrong += once[i] != twice[i];
    EXPECT_EQ(wrong, 0u) << NameOf(type);
  }
}

// Formats whose bytes are settled put the extremes of a block at the ends of its range; blocks that
// were made in another way are not found again. Those of a search are, but for a few.
TEST(QuantizeWeights, BlocksOfOtherSoftwareAreFoundAgain) {
  const auto index = nlohmann::json::parse(test::ReadFile(test::DataPath("quants/index.json")));
  int found = 0;
  for (const auto& entry : index["types"]) {
    const std::string name = entry["name"];
    const DTypeInfo* info = FindDType(entry["id"].get<std::uint32_t>());
    ASSERT_NE(info, nullptr) << name;
    if (name == "q4_0" || name == "q4_1" || name == "q5_0" || name == "q5_1") continue;
    const std::vector<float> x = Floats(name + ".f32");
    const double error = Nmse(Decoded(info->type, Quantized(info->type, x)), x);
    EXPECT_LE(error, 0.01 * entry["nmse"].get<double>()) << name;
    found += error == 0;
  }
  EXPECT_GE(found, 19);
}

TEST(QuantizeWeights, AwkwardBlocks) {
  for (const DType type : WeightTypes()) {
    SCOPED_TRACE(std::string(NameOf(type)));
    const std::vector<float> zeros(256, 0.0f);
    EXPECT_EQ(Decoded(type, Quantized(type, zeros)), zeros);
    // Less than half of the smallest scale.
    for (const float tiny : {1e-40f, -1e-40f, 1e-38f, -3e-12f}) {
      const std::vector<float> x(256, tiny);
      for (const float got : Decoded(type, Quantized(type, x))) {
        ASSERT_LE(std::abs(got), 2 * std::abs(tiny));
      }
    }
    for (const float value : {0.37f, -1.5f, 100.0f}) {
      const std::vector<float> x(256, value);
      EXPECT_LT(Nmse(Decoded(type, Quantized(type, x)), x), 0.01) << value;
    }
    // The largest values, and one that dwarfs the rest.
    const float most = type == DType::kF8_E4M3 ? 448.0f
                       : type == DType::kNVFP4 ? 2688.0f
                                               : 65504.0f;
    std::vector<float> x(256, most);
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -most;
    EXPECT_LT(Nmse(Decoded(type, Quantized(type, x)), x), 0.3);
    x = Normal(256, 10);
    x[77] = 400.0f;
    const std::vector<float> got = Decoded(type, Quantized(type, x));
    const double bits = 8.0 * InfoOf(type).block_bytes / InfoOf(type).block;
    EXPECT_LT(Nmse(got, x), bits > 4 ? 0.05 : 1.0);
    EXPECT_GT(got[77], 0);
  }
}

TEST(QuantizeWeights, RefusesByName) {
  const auto message = [](DType type, std::vector<float> x) {
    std::vector<std::uint8_t> blocks(4096);
    const Status status =
        QuantizeRow(type, x.data(), blocks.data(), static_cast<std::int64_t>(x.size()));
    EXPECT_EQ(status.code(), Code::kInvalid);
    return status.message();
  };
  EXPECT_EQ(message(DType::kI32, {1}),
            "i32: no weights have this type; name a float or block type");
  EXPECT_EQ(message(DType::kQ4_K, std::vector<float>(100)),
            "q4_k: 100 values are no whole number of blocks (256 values each)");
  std::vector<float> x(256, 1.0f);
  x[17] = std::numeric_limits<float>::quiet_NaN();
  for (const DType type : WeightTypes()) {
    EXPECT_EQ(message(type, x),
              std::string(NameOf(type)) + ": value 17 is nan; weights must be finite");
  }
  x[17] = -std::numeric_limits<float>::infinity();
  for (const DType type : WeightTypes()) {
    EXPECT_EQ(message(type, x),
              std::string(NameOf(type)) + ": value 17 is -inf; weights must be finite");
  }
  x[17] = -70000.0f;
  EXPECT_EQ(message(DType::kQ8_0, x),
            "q8_0: value 17 is -70000, past what it can hold (up to 65504)");
  EXPECT_EQ(message(DType::kF8_E4M3, x),
            "f8_e4m3: value 17 is -70000, past what it can hold (up to 448)");
}

}  // namespace
}  // namespace vt
