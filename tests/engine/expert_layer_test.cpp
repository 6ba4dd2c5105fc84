// Where a layer's experts run is decided before anything is uploaded, and a step answers either
// way.
#include "engine/expert_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace vt {
namespace {

constexpr std::int64_t kExperts = 3, kWidth = 32, kInner = 64, kRows = 5;

std::vector<float> Values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;
  return values;
}

struct Fixture {
  std::vector<float> gate = Values(kExperts * kInner * kWidth, 1);
  std::vector<float> up = Values(kExperts * kInner * kWidth, 2);
  std::vector<float> down = Values(kExperts * kWidth * kInner, 3);
  std::vector<float> x = Values(kRows * kWidth, 4);
  std::vector<std::int32_t> ids = {2, 0, 0, 1, 2};

  ThreadPool pool{1};
  DeviceInfo cpu;
  DeviceInfo sim;
  std::unique_ptr<DeviceMemory> cpu_memory, sim_memory;
  std::unique_ptr<GpuStream> stream;
  std::unique_ptr<OpRunner> cpu_ops, sim_ops;

  explicit Fixture(DeviceInfo sim_device) : cpu(ProbeCpu()), sim(std::move(sim_device)) {
    sim.id = "sim:0";
    sim.kind = DeviceKind::kSim;
    cpu_memory = OpenDeviceMemory(cpu).value();
    sim_memory = OpenDeviceMemory(sim).value();
    stream = OpenGpuStream(sim).value();
    cpu_ops = std::make_unique<OpRunner>(
        OpRunner::Setup{.registry = BuiltinKernels(), .device = cpu, .resolve = {}, .pool = &pool});
    sim_ops = std::make_unique<OpRunner>(OpRunner::Setup{.registry = BuiltinKernels(),
                                                         .device = sim,
                                                         .resolve = {},
                                                         .pool = &pool,
                                                         .stream = stream.get()});
  }

  ExpertWeights Weights() const {
    const auto matrix = [](const std::vector<float>& values, std::int64_t cols) {
      return Weight{.type = DType::kF32,
                    .rows = static_cast<std::int64_t>(values.size()) / cols,
                    .cols = cols,
                    .data = values.data()};
    };
    return {matrix(gate, kWidth), matrix(up, kWidth), matrix(down, kInner), kExperts,
            Activation::kGelu};
  }

  Result<ExpertLayer> Create(const ResolveOptions& options = {}) {
    return ExpertLayer::Create(Weights(), kRows, {&cpu, cpu_memory.get(), cpu_ops.get()},
                               {&sim, sim_memory.get(), sim_ops.get()}, BuiltinKernels(), options);
  }

  void ExpectAnswers(ExpertLayer& layer) {
    std::vector<float> out(x.size());
    const Status status = layer.Step(x.data(), ids.data(), kRows, out.data());
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::int64_t r = 0; r < kRows; ++r) {
      const std::int64_t expert = ids[static_cast<std::size_t>(r)];
      std::vector<double> inner;
      const auto dot = [&](const std::vector<float>& w, std::int64_t row, std::int64_t cols,
                           auto value) {
        double sum = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
          sum += static_cast<double>(w[static_cast<std::size_t>(row * cols + c)]) * value(c);
        }
        return sum;
      };
      const auto input = [&](std::int64_t c) {
        return x[static_cast<std::size_t>(r * kWidth + c)];
      };
      for (std::int64_t i = 0; i < kInner; ++i) {
        const double g = dot(gate, expert * kInner + i, kWidth, input);
        const double u = dot(up, expert * kInner + i, kWidth, input);
        const double bend = std::sqrt(2 / std::acos(-1.0)) * (g + 0.044715 * g * g * g);
        inner.push_back(g / 2 * (1 + std::tanh(bend)) * u);
      }
      for (std::int64_t c = 0; c < kWidth; ++c) {
        const double want = dot(down, expert * kWidth + c, kInner,
                                [&](std::int64_t i) { return inner[static_cast<std::size_t>(i)]; });
        EXPECT_NEAR(out[static_cast<std::size_t>(r * kWidth + c)], want, 1e-3) << r << " " << c;
      }
    }
  }
};

TEST(ExpertLayer, RunsOnTheDeviceThatHasItsOps) {
  Fixture f({});
  Result<ExpertLayer> layer = f.Create();
  ASSERT_TRUE(layer.ok()) << layer.status().message();
  EXPECT_EQ(layer->device().id, "sim:0");
  EXPECT_EQ(layer->reason(), "");
  EXPECT_GT(f.sim_memory->bytes_in_use(), f.gate.size() * 3 * sizeof(float));
  EXPECT_EQ(f.cpu_memory->bytes_in_use(), 0u);
  f.ExpectAnswers(*layer);
}

// Each op of the arm in turn is missing: the host takes the layer, with the reason, and nothing was
// uploaded.
TEST(ExpertLayer, AMissingOpIsKnownBeforeTheUpload) {
  for (const std::string missing : {"expert_matmul", "gelu_mul"}) {
    DeviceInfo sim;
    sim.lacks_ops = {missing};
    Fixture f(sim);
    Result<ExpertLayer> layer = f.Create();
    ASSERT_TRUE(layer.ok()) << layer.status().message();
    EXPECT_EQ(layer->device().id, "cpu");
    EXPECT_TRUE(layer->reason().starts_with("op " + missing + " on device sim:0: "))
        << layer->reason();
    EXPECT_EQ(f.sim_memory->bytes_in_use(), 0u);
    f.ExpectAnswers(*layer);
  }
}

TEST(ExpertLayer, NoRoomLeavesNothingBehind) {
  DeviceInfo sim;
  sim.memory_total = {1024, "a test"};
  Fixture f(sim);
  Result<ExpertLayer> layer = f.Create();
  ASSERT_TRUE(layer.ok()) << layer.status().message();
  EXPECT_EQ(layer->device().id, "cpu");
  EXPECT_TRUE(layer->reason().starts_with("device sim:0: cannot allocate ")) << layer->reason();
  EXPECT_EQ(f.sim_memory->bytes_in_use(), 0u);
  f.ExpectAnswers(*layer);
}

TEST(ExpertLayer, RefusedWhereNobodyRunsIt) {
  DeviceInfo sim;
  sim.lacks_ops = {"expert_matmul"};
  Fixture f(sim);
  f.cpu.lacks_ops = {"expert_matmul"};
  const Result<ExpertLayer> layer = f.Create();
  ASSERT_FALSE(layer.ok());
  EXPECT_EQ(layer.status().code(), Code::kUnsupported);
  EXPECT_TRUE(layer.status().message().starts_with("op expert_matmul on device cpu: "));
  EXPECT_EQ(f.cpu_memory->bytes_in_use(), 0u);
}

}  // namespace
}  // namespace vt
