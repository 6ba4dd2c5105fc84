// Writing rows to the KV cache in every type.
#include <numeric>

#include "cpu/generic/half.h"
#include "cpu/kernel_harness.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

TEST(KvStoreTest, EveryKernelTypeAndWidth) {
  const std::vector<std::int32_t> slots = {4, 0, 9, 2};
  const std::int64_t cells = 10;
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    for (std::int64_t cols : {1, 7, 16, 17, 31, 32, 40, 64, 96, 192, 1000}) {
      const auto rows = static_cast<std::int64_t>(slots.size());
      if (type == DType::kQ8_0 && cols % 32 != 0) {
        KvStoreArgs args;
        args.cols = cols;
        args.cells.type = type;
        for (const auto& kernel : CpuOps().Rows<KvStoreArgs>()) {
          EXPECT_FALSE(kernel.supports(args).yes);
        }
        continue;
      }
      auto x = RandomValues(Size(rows * cols), 21, 4.0f);
      const float special[] = {0.0f, -0.0f, 1e-8f, 65504.0f, 65520.0f, 1e-41f, -1e9f};
      for (std::size_t i = 0; i < x.size(); i += 5) x[i] = special[i / 5 % std::size(special)];
      const std::int64_t cell_bytes =
          static_cast<std::int64_t>(RowBytes(type, static_cast<std::uint64_t>(cols))) + 4;
      Guarded<float> guarded_x(x);
      KvStoreArgs args;
      args.x = guarded_x.data();
      args.slots = slots.data();
      args.rows = rows;
      args.cols = cols;
      args.cells.type = type;
      args.cells.cell_bytes = cell_bytes;
      const std::string label =
          "kv_store " + std::string(NameOf(type)) + " x" + std::to_string(cols);
      const std::vector<std::uint8_t> blank(Size(cells * cell_bytes), 0x5a);
      const auto got = RunEveryKernel(
          args, blank, [](KvStoreArgs& a, std::uint8_t* data) { a.cells.data = data; }, label);
      // Other cells, and the room after each row, are as they were.
      std::size_t untouched = 0;
      for (std::uint8_t byte : got) untouched += byte == 0x5a;
      EXPECT_GE(untouched, Size((cells - rows) * cell_bytes + rows * 4)) << label;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::uint8_t* cell = got.data() + slots[Size(r)] * cell_bytes;
        for (std::int64_t c = 0; c < cols && type != DType::kQ8_0; ++c) {
          const float v = x[Size(r * cols + c)];
          float f32 = 0;
          std::uint16_t half = 0;
          std::memcpy(&f32, cell + c * 4, type == DType::kF32 ? 4 : 0);
          std::memcpy(&half, cell + c * 2, 2);
          if (type == DType::kF32) {
            EXPECT_TRUE(SameBits(f32, v)) << label;
          } else {
            EXPECT_EQ(half, type == DType::kF16 ? F32ToF16(v) : F32ToBf16(v)) << label;
          }
        }
      }
    }
  }
}

// The bytes that other software makes of the same values.
TEST(KvStoreTest, Q8MatchesTheFileFormat) {
  const std::string source = ReadFile(DataPath("quants/source.f32"));
  const std::string blocks = ReadFile(DataPath("quants/q8_0.blocks"));
  const std::int64_t cols = 1024, rows = 4;
  ASSERT_EQ(source.size(), Size(rows * cols * 4));
  std::vector<float> x(Size(rows * cols));
  std::memcpy(x.data(), source.data(), source.size());
  std::vector<std::int32_t> slots(Size(rows));
  std::iota(slots.begin(), slots.end(), 0);
  KvStoreArgs args;
  args.x = x.data();
  args.slots = slots.data();
  args.rows = rows;
  args.cols = cols;
  args.cells.type = DType::kQ8_0;
  args.cells.cell_bytes = cols / 32 * 34;
  const auto got = RunEveryKernel(
      args, std::vector<std::uint8_t>(blocks.size()),
      [](KvStoreArgs& a, std::uint8_t* data) { a.cells.data = data; }, "kv_store q8_0");
  ExpectSameBits(std::vector<std::uint8_t>(blocks.begin(), blocks.end()), got, "q8_0 blocks");
}

// Halves round away from zero, the float below a half does not; zeros and values that are not
// finite.
TEST(KvStoreTest, Q15Edges) {
  std::vector<float> x(5 * 32, 0.0f);
  const float first[] = {127.0f, 0.5f, -0.5f, 0.49999997f, 1.5f, -2.5f, 126.5f, -126.5f, -127.0f};
  std::copy(std::begin(first), std::end(first), x.begin());
  x[2 * 32 + 3] = NAN;
  x[2 * 32 + 4] = 1.0f;
  x[3 * 32 + 9] = INFINITY;
  x[4 * 32] = 1e-42f;  // its scale is 0 as f16
  std::vector<std::int32_t> slots = {0};
  KvStoreArgs args;
  args.x = x.data();
  args.slots = slots.data();
  args.rows = 1;
  args.cols = 5 * 32;
  args.cells.type = DType::kQ8_0;
  args.cells.cell_bytes = 5 * 34;
  const auto got = RunEveryKernel(
      args, std::vector<std::uint8_t>(5 * 34),
      [](KvStoreArgs& a, std::uint8_t* data) { a.cells.data = data; }, "kv_store q8_0 edges");
  const int want[] = {127, 1, -1, 0, 2, -3, 127, -127, -127, 0};
  for (std::size_t i = 0; i < std::size(want); ++i) {
    EXPECT_EQ(static_cast<std::int8_t>(got[2 + i]), want[i]) << i;
  }
  std::uint16_t scale[5];
  for (std::size_t b = 0; b < 5; ++b) std::memcpy(&scale[b], got.data() + b * 34, 2);
  EXPECT_EQ(F16ToF32(scale[0]), 1.0f);
  EXPECT_EQ(scale[1], 0);
  EXPECT_TRUE(std::isnan(F16ToF32(scale[2])));
  EXPECT_TRUE(std::isnan(F16ToF32(scale[3])));
  EXPECT_EQ(scale[4], 0);
}

}  // namespace
}  // namespace vt::test
