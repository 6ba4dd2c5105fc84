// embed: rows of a table of any weight type, decoded and scaled.
#include "cpu/matmul_fixture.h"

namespace vt {
namespace {

using test::Paged;

TEST(EmbedTest, EveryTypeKernelAndPartCount) {
  constexpr std::int64_t kRows = 5;
  for (const DType type : test::WeightTypes()) {
    const std::int64_t cols = InfoOf(type).block == 1 ? 37 : 512;
    const auto row_bytes =
        static_cast<std::int64_t>(RowBytes(type, static_cast<std::uint64_t>(cols)));
    Paged<std::uint8_t> table(kRows * row_bytes);
    test::Random random(7);
    test::FillWeights(type, kRows, cols, table.data(), random);
    const std::int32_t ids[] = {4, 0, 0, 3, 1, 2, 4};
    for (const float scale : {1.0f, 25.3f}) {
      for (const std::int64_t rows : {0, 1, 7}) {
        std::vector<float> want(static_cast<std::size_t>(rows * cols));
        for (std::int64_t r = 0; r < rows; ++r) {
          float* out = want.data() + r * cols;
          DequantizeRow(type, table.data() + ids[r] * row_bytes, out, cols);
          for (std::int64_t i = 0; i < cols; ++i) out[i] *= scale;
        }
        EmbedArgs args{.table = {.type = type, .rows = kRows, .cols = cols, .data = table.data()},
                       .ids = ids,
                       .rows = rows,
                       .scale = scale};
        for (const auto* kernel : test::Usable(args)) {
          for (const int parts : {1, 2, 3, 8}) {
            SCOPED_TRACE(kernel->name + " " + std::string(NameOf(type)) + " rows " +
                         std::to_string(rows) + " parts " + std::to_string(parts));
            Paged<float> got(rows * cols);
            args.out = got.data();
            test::RunParts(*kernel, args, parts);
            for (std::int64_t i = 0; i < rows * cols; ++i) {
              ASSERT_TRUE(test::SameBits(got[i], want[static_cast<std::size_t>(i)]))
                  << "index " << i << ": want " << want[static_cast<std::size_t>(i)] << ", got "
                  << got[i];
            }
            EXPECT_TRUE(got.Intact());
          }
        }
      }
    }
  }
}

TEST(EmbedTest, RefusesWhatHoldsNoWeights) {
  for (const auto& kernel : test::CpuOps().Rows<EmbedArgs>()) {
    EmbedArgs args{.table = {.type = DType::kI32, .rows = 4, .cols = 32}};
    EXPECT_NE(kernel.supports(args).reason.find("i32"), std::string::npos);
    args.table = {.type = DType::kQ4_K, .rows = 4, .cols = 300};
    EXPECT_NE(kernel.supports(args).reason.find("300"), std::string::npos);
  }
}

}  // namespace
}  // namespace vt
