#include "place/cost_model.h"

#include <gtest/gtest.h>

#include "place/op_work.h"
#include "plan/placement.h"
#include "support/header_models.h"

namespace vt {
namespace {

DeviceInfo Card(const char* id, double gb_per_s, double tflops) {
  DeviceInfo device;
  device.id = id;
  device.kind = DeviceKind::kCuda;
  device.described = true;
  device.memory_gb_per_s = {gb_per_s, "measured by a test"};
  device.compute_tflops["f32"] = {tflops, "measured by a test"};
  return device;
}

DeviceInfo Host(double gb_per_s, double tflops) {
  DeviceInfo device = Card("cpu", gb_per_s, tflops);
  device.kind = DeviceKind::kCpu;
  device.cores = 8;
  device.features = kFeatureAvx2;
  return device;
}

Weight MatrixOf(DType type, std::int64_t rows, std::int64_t cols) {
  Weight weight;
  weight.type = type;
  weight.rows = rows;
  weight.cols = cols;
  return weight;
}

EnginePlan PlanOf(const GgufFile& file, const ModelSpec& spec, EngineOptions options,
                  const std::vector<DeviceInfo>& devices, const Placement& placement) {
  options.placement = placement;
  return MakePlan(file, spec, options, devices).value();
}

TEST(OpWork, OfAProduct) {
  MatmulArgs args;
  args.w = MatrixOf(DType::kQ4_K, 1000, 512);
  args.m = 3;
  const OpWork work = WorkOf(args, 0);
  EXPECT_EQ(work.weight_bytes, 1000 * 2 * 144);  // 144 bytes for 256 values
  EXPECT_EQ(work.operations, 2.0 * 3 * 1000 * 512);
  EXPECT_EQ(work.activation_bytes, 4.0 * 3 * (512 + 1000));
  EXPECT_EQ(work.weight, DType::kQ4_K);
}

TEST(OpWork, OfATableIsTheRowsThatAreLookedUp) {
  EmbedArgs args;
  args.table = MatrixOf(DType::kF16, 150000, 64);
  args.rows = 5;
  EXPECT_EQ(WorkOf(args, 0).weight_bytes, 5 * 64 * 2);
}

TEST(OpWork, OfExpertsIsTheOnesThatAreChosen) {
  ExpertMatmulArgs args;
  args.w = MatrixOf(DType::kF16, 128 * 64, 32);
  args.experts = 128;
  args.rows = 8;  // a token of eight
  args.x_repeat = 8;
  OpWork work = WorkOf(args, 0);
  EXPECT_EQ(work.weight_bytes, 8.0 * 64 * 32 * 2);
  EXPECT_EQ(work.operations, 2.0 * 8 * 64 * 32);
  args.rows = 4096;  // almost all
  work = WorkOf(args, 0);
  EXPECT_GT(work.weight_bytes, 0.99 * 128 * 64 * 32 * 2);
  EXPECT_LE(work.weight_bytes, 128.0 * 64 * 32 * 2);
}

TEST(OpWork, OfAnAttentionGrowsWithItsPositions) {
  AttentionArgs args;
  args.k = args.v = {DType::kF16, nullptr, 2 * 64 * 2};
  args.rows = 1;
  args.heads = 8;
  args.kv_heads = 2;
  args.key_dim = args.value_dim = 64;
  EXPECT_EQ(WorkOf(args, 1000).cell_bytes, 1000.0 * 2 * 2 * 64 * 2);
  // Values that are the first part of the keys' cells are read with them.
  args.kv_heads = 1;
  args.key_dim = 576;
  args.value_dim = 512;
  args.k = args.v = {DType::kF16, nullptr, 576 * 2};
  EXPECT_EQ(WorkOf(args, 1000).cell_bytes, 1000.0 * 576 * 2);
}

TEST(CostModel, DecodingReadsTheWeightsOnce) {
  const GgufFile file = test::HeaderModel("llama-8b");
  const ModelSpec spec = ReadModelSpec(file).value();
  EngineOptions options;
  options.context = 64;
  DeviceInfo card = Card("cuda:0", 100, 1000);
  card.launch_us = {1e-6, "a test"};
  const EnginePlan plan = PlanOf(file, spec, options, {card}, WholePlacement(file, spec, "cuda:0"));
  const Prediction prediction = PredictSpeed(file, spec, plan).value();
  ASSERT_TRUE(prediction.decode_tok_per_s.has_value()) << prediction.missing;
  std::uint64_t read = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name != "token_embd.weight") read += tensor.bytes;
  }
  EXPECT_NEAR(*prediction.decode_tok_per_s, 100e9 / static_cast<double>(read),
              0.05 * 100e9 / static_cast<double>(read));
  EXPECT_NE(prediction.decode_bottleneck.find("cuda:0: reading weights of ffn"), std::string::npos)
      << prediction.decode_bottleneck;
  EXPECT_NE(prediction.prefill_bottleneck.find("cuda:0: "), std::string::npos);
  EXPECT_GT(*prediction.prefill_tok_per_s, 10 * *prediction.decode_tok_per_s);
}

TEST(CostModel, LongerContextsAndCrossingsCost) {
  const GgufFile file = test::HeaderModel("llama-8b");
  const ModelSpec spec = ReadModelSpec(file).value();
  const std::vector<DeviceInfo> devices = {Host(50, 1), Card("cuda:0", 500, 50),
                                           Card("cuda:1", 500, 50)};
  Placement one = WholePlacement(file, spec, "cpu");
  one.devices = {"cpu", "cuda:0", "cuda:1"};
  const auto set = [&](auto device) {
    Placement placement = one;
    placement.tensors.clear();
    placement.held.clear();
    placement.input = placement.output = device(0);
    for (std::size_t i = 0; i < placement.layers.size(); ++i) {
      const int d = device(static_cast<int>(i));
      placement.layers[i] = {d, d, d};
    }
    PlaceTensors(file, spec, placement);
    return placement;
  };
  const auto decode = [&](const Placement& placement, std::uint64_t context) {
    EngineOptions options;
    options.context = context;
    const EnginePlan plan = PlanOf(file, spec, options, devices, placement);
    return *PredictSpeed(file, spec, plan).value().decode_tok_per_s;
  };
  const Placement together = set([](int) { return 1; });
  const Placement halves = set([](int layer) { return layer < 16 ? 1 : 2; });
  const Placement stripes = set([](int layer) { return 1 + layer % 2; });
  const Placement host = set([](int) { return 0; });
  EXPECT_GT(decode(together, 512), decode(together, 8192));
  EXPECT_GT(decode(together, 512), decode(halves, 512));
  EXPECT_GT(decode(halves, 512), decode(stripes, 512));
  EXPECT_GT(decode(stripes, 512), decode(host, 512));
}

TEST(CostModel, UnknownRatesGiveNoPrediction) {
  const GgufFile file = test::HeaderModel("smollm-135m");
  const ModelSpec spec = ReadModelSpec(file).value();
  DeviceInfo host = Host(50, 1);
  host.memory_gb_per_s = {};
  EngineOptions options;
  options.context = 64;
  const EnginePlan plan = PlanOf(file, spec, options, {host}, WholePlacement(file, spec, "cpu"));
  const Prediction prediction = PredictSpeed(file, spec, plan).value();
  EXPECT_FALSE(prediction.decode_tok_per_s.has_value());
  EXPECT_FALSE(prediction.prefill_tok_per_s.has_value());
  EXPECT_EQ(prediction.missing, "memory_gb_per_s of cpu");
}

TEST(DeviceRates, MeasuredKernelRatesComeFirst) {
  DeviceInfo host = Host(50, 1);
  host.launch_us = {1e-6, "a test"};
  MatmulArgs args;
  args.w = MatrixOf(DType::kQ4_K, 4096, kRateCols);
  args.act = ActType::kQ15;
  args.m = 1;
  const OpWork work = WorkOf(args, 0);
  const double before = DeviceRates(host).TimeOf(work, false).seconds;
  EXPECT_NEAR(before, work.weight_bytes / 50e9, 0.05 * before);
  host.kernel_rates["q4_k"] = {{10.0, "measured"}, {0.2, "measured"}};
  const double after = DeviceRates(host).TimeOf(work, false).seconds;
  EXPECT_NEAR(after, work.weight_bytes / 10e9, 0.05 * after);
  args.m = 512;
  const OpWork batch = WorkOf(args, 0);
  const OpTime time = DeviceRates(host).TimeOf(batch, false);
  EXPECT_NEAR(time.seconds, batch.operations / 0.2e12, 0.05 * time.seconds);
  EXPECT_EQ(time.bound, Bound::kArithmetic);
}

TEST(DeviceRates, WeightsThatAreDecodedFirstAreSlowOnAHost) {
  const DeviceInfo host = Host(50, 1);
  MatmulArgs args;
  args.m = 1;
  args.w = MatrixOf(DType::kQ4_K, 4096, 4096);
  const double direct = DeviceRates(host).TimeOf(WorkOf(args, 0), false).seconds;
  args.w.type = DType::kIQ1_S;
  EXPECT_GT(DeviceRates(host).TimeOf(WorkOf(args, 0), false).seconds, 2 * direct);
}

}  // namespace
}  // namespace vt
