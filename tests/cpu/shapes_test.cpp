// What kernels answer about shapes: asked with no memory at hand, a yes for nothing to do, a reason
// with the value seen for what they do not take. And what the rows of the CPU say of themselves.
#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

template <class Args>
void ExpectTaken(const Args& args) {
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (!kernel.run) continue;
    const Support answer = kernel.supports(args);
    EXPECT_TRUE(answer.yes) << Args::kOp << " " << kernel.name << ": " << answer.reason;
    EXPECT_EQ(answer.reason, "");
  }
}

// Every kernel that runs here refuses, for the reason given.
template <class Args>
void ExpectRefused(const Args& args, const std::string& reason) {
  int asked = 0;
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (!kernel.run) continue;
    const Support answer = kernel.supports(args);
    EXPECT_FALSE(answer.yes) << Args::kOp << " " << kernel.name;
    EXPECT_EQ(answer.reason, reason) << Args::kOp << " " << kernel.name;
    ++asked;
  }
  EXPECT_GE(asked, 1) << Args::kOp;
}

// As ExpectRefused, of the kernels that take this form of activations.
template <class Args>
void ExpectRefusedForAct(const Args& args, const std::string& reason) {
  int asked = 0;
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (!kernel.run || kernel.name.ends_with("q15") != (args.act == ActType::kQ15)) continue;
    EXPECT_EQ(kernel.supports(args).reason, reason) << Args::kOp << " " << kernel.name;
    ++asked;
  }
  EXPECT_EQ(asked, 3) << Args::kOp;
}

TEST(ShapesTest, NothingToDoIsTaken) {
  ExpectTaken(RmsNormArgs{.rows = 0, .cols = 4});
  ExpectTaken(RmsNormAddArgs{.rows = 0, .cols = 4});
  ExpectTaken(DualRmsNormResidualArgs{.rows = 0, .cols = 4});
  ExpectTaken(LayerNormArgs{.rows = 0, .cols = 4});
  ExpectTaken(RopeTableArgs{.rows = 0, .pairs = 4});
  ExpectTaken(RopeArgs{.rows = 0, .heads = 2, .head_dim = 8, .pairs = 4});
  ExpectTaken(FusedNormRopeArgs{.rows = 0, .latent = 4});
  ExpectTaken(SiluMulArgs{.count = 0});
  ExpectTaken(MulArgs{.rows = 3, .cols = 0, .b_cols = 0});
  ExpectTaken(SoftmaxArgs{.rows = 0, .cols = 4});
  ExpectTaken(ArgMaxArgs{.rows = 0, .cols = 4});
  ExpectTaken(DequantFp8Args{.w = {.type = DType::kF8_E4M3, .rows = 0, .cols = 4}});
  ExpectTaken(MatmulFp8Args{.w = {.type = DType::kF8_E4M3, .rows = 3, .cols = 4}, .m = 0});
}

template <class Args>
void ExpectRowsAndCols() {
  ExpectRefused(Args{.rows = -1, .cols = 4}, "rows (-1) must be at least 0");
  ExpectRefused(Args{.rows = 2, .cols = 0}, "cols (0) must be at least 1");
}

TEST(ShapesTest, RowsAndColumns) {
  ExpectRowsAndCols<RmsNormArgs>();
  ExpectRowsAndCols<RmsNormAddArgs>();
  ExpectRowsAndCols<DualRmsNormResidualArgs>();
  ExpectRowsAndCols<LayerNormArgs>();
  ExpectRowsAndCols<SoftmaxArgs>();
  ExpectRowsAndCols<ArgMaxArgs>();
  ExpectRefused(ActivateArgs{.count = -3}, "count (-3) must be at least 0");
  ExpectRefused(SiluMulArgs{.count = -3}, "count (-3) must be at least 0");
  ExpectRefused(GeluMulArgs{.count = -3}, "count (-3) must be at least 0");
  ExpectRefused(AddArgs{.count = -3}, "count (-3) must be at least 0");
  ExpectRefused(ScaleCapArgs{.count = -3}, "count (-3) must be at least 0");
  ExpectRefused(ArgMaxArgs{.rows = 1, .cols = std::int64_t{1} << 31},
                "cols (2147483648) exceeds a 32-bit index (2147483647)");
  ExpectRefused(MulArgs{.rows = 2, .cols = 6, .b_cols = 3}, "b_cols (3) must be 1 or cols (6)");
}

TEST(ShapesTest, NormsAndRope) {
  ExpectRefused(RmsNormArgs{.weight_rows = 0, .rows = 1, .cols = 4},
                "weight_rows (0) must be at least 1");
  ExpectRefused(RmsNormArgs{.rows = 1, .cols = 4, .stride = 3},
                "stride (3) must be 0 or at least the row (4)");
  ExpectTaken(RmsNormArgs{.rows = 1, .cols = 4, .stride = 4});
  ExpectRefused(RopeArgs{.rows = 1, .heads = 2, .head_dim = 6, .pairs = 4},
                "2 * pairs (8) exceeds head_dim (6)");
  ExpectRefused(RopeArgs{.rows = 1, .heads = 2, .head_dim = 6, .pairs = 3, .stride = 11},
                "stride (11) must be 0 or at least the row (12)");
  ExpectRefused(RopeArgs{.rows = 1, .heads = 2, .head_dim = 6, .pairs = -1},
                "pairs (-1) must be at least 0");
  ExpectRefused(RopeTableArgs{.rows = 1, .pairs = -1}, "pairs (-1) must be at least 0");
  ExpectRefused(FusedNormRopeArgs{.rows = 1, .latent = 0, .pairs = 2},
                "latent (0) must be at least 1");
}

TEST(ShapesTest, Cells) {
  KvStoreArgs store{.rows = 1, .cols = 40, .cells = {.type = DType::kQ8_0}};
  ExpectRefused(store, "cols (40) must be a multiple of 32 (the block of q8_0)");
  store.cells.type = DType::kQ4_0;
  ExpectRefused(store, "cell type q4_0 is not taken (f32, f16, bf16 or q8_0)");
  AttentionArgs attention{.k = {.type = DType::kF16},
                          .v = {.type = DType::kQ8_0},
                          .rows = 1,
                          .heads = 5,
                          .kv_heads = 2,
                          .key_dim = 8,
                          .value_dim = 32,
                          .page_cells = 16};
  ExpectRefused(attention, "heads (5) must be a multiple of 2 (kv_heads)");
  attention.kv_heads = 0;
  ExpectRefused(attention, "kv_heads (0) must be at least 1");
  attention.kv_heads = 5;
  ExpectTaken(attention);
  attention.value_dim = 40;
  ExpectRefused(attention, "value_dim (40) must be a multiple of 32 (the block of q8_0)");
}

TEST(ShapesTest, Matmuls) {
  const Weight q4{.type = DType::kQ4_K, .rows = 6, .cols = 256};
  for (const ActType act : {ActType::kF32, ActType::kQ15}) {
    ExpectRefusedForAct(MatmulArgs{.w = q4, .act = act, .m = -1}, "m (-1) must be at least 0");
    Weight w = q4;
    w.cols = 300;
    const std::string columns = "columns of the weight (300) must be a multiple of 256 (q4_k)";
    ExpectRefusedForAct(MatmulArgs{.w = w, .act = act}, columns);
    ExpectRefusedForAct(ExpertMatmulArgs{.w = w, .experts = 2, .act = act}, columns);
    w = q4;
    w.rows = -6;
    ExpectRefusedForAct(MatmulArgs{.w = w, .act = act},
                        "rows of the weight (-6) must be at least 0");
    ExpertMatmulArgs experts{.w = q4, .experts = 4, .act = act};
    ExpectRefusedForAct(experts, "rows of the weight (6) must be a multiple of 4 (experts)");
    experts.experts = 0;
    ExpectRefusedForAct(experts, "experts (0) must be at least 1");
    experts.experts = 3;
    experts.rows = -1;
    ExpectRefusedForAct(experts, "rows (-1) must be at least 0");
    experts.rows = 0;
    ExpectRefusedForAct(experts, "");
  }
  ExpectRefusedForAct(
      ExpertMatmulArgs{.w = {.type = DType::kF8_E4M3, .rows = 6, .cols = 5}, .experts = 3}, "");
  ExpectRefused(MatmulFp8Args{.w = {.type = DType::kF8_E4M3, .rows = 6, .cols = 5}, .m = -1},
                "m (-1) must be at least 0");
  ExpectRefused(DequantFp8Args{.w = {.type = DType::kF8_E4M3, .rows = 6, .cols = -5}},
                "columns of the weight (-5) must be at least 0");
  ExpectRefused(EmbedArgs{.table = q4, .rows = -1}, "rows (-1) must be at least 0");
}

TEST(ShapesTest, PriorityFollowsTheTier) {
  CpuOps().ForEach([](std::string_view op, const auto& kernel) {
    const std::string row = std::string(op) + " " + kernel.name;
    if (kernel.tier == Tier::kReference) {
      EXPECT_EQ(kernel.priority, 0) << row;
      EXPECT_EQ(kernel.needs, 0u) << row;
    }
    EXPECT_EQ(kernel.tier == Tier::kComposed, kernel.priority == 5) << row;
    EXPECT_EQ(kernel.tier == Tier::kNative, kernel.priority >= 10) << row;
  });
}

}  // namespace
}  // namespace vt::test
