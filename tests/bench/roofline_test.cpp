#include "bench/roofline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace vt {
namespace {

// 10 GB/s from memory, 40 GB/s from caches; 100 GFLOP/s in f32, 200 of products of two bytes.
MachinePeaks Peaks() {
  MachinePeaks peaks;
  peaks.threads = 2;
  peaks.reads = {{1 << 16, 40}, {1 << 20, 40}, {1 << 24, 10}, {1 << 28, 10}};
  peaks.memory_gb_per_s = 10;
  peaks.memory_bytes = 1 << 28;
  peaks.f32_gflops = 100;
  peaks.int8_gops = 400;
  return peaks;
}

OpSpeed Speed(std::uint64_t bytes, std::optional<double> flops, double ns,
              const std::string& activations = "f32") {
  OpSpeed speed;
  speed.op = "matmul";
  speed.kernel = "cpu.x";
  speed.type = "q4_k";
  speed.activations = activations;
  speed.shape = "q4_k 8x8";
  speed.bytes = bytes;
  speed.flops = flops;
  speed.median_ns = ns;
  return speed;
}

TEST(Roofline, TheLowerOfTheTwoRoofsBounds) {
  // 2^24 bytes from memory at 10 GB/s; 2 operations a byte: 20 GFLOP/s are possible.
  const double bytes = 1 << 24;
  const Roof memory = RoofOf(Speed(1 << 24, 2 * bytes, bytes / 5), Peaks());
  EXPECT_DOUBLE_EQ(memory.gb_per_s, 10);
  EXPECT_DOUBLE_EQ(*memory.gflops, 20);
  EXPECT_TRUE(memory.by_memory);
  EXPECT_NEAR(memory.share, 0.5, 1e-12);  // it reads 5 GB/s
  // 50 operations a byte: 500 GFLOP/s by memory, so arithmetic bounds.
  const Roof f32 = RoofOf(Speed(1 << 24, 50 * bytes, bytes), Peaks());
  EXPECT_DOUBLE_EQ(*f32.gflops, 100);
  EXPECT_FALSE(f32.by_memory);
  EXPECT_NEAR(f32.share, 0.5, 1e-12);
  const Roof q15 = RoofOf(Speed(1 << 24, 50 * bytes, bytes, "q15"), Peaks());
  EXPECT_DOUBLE_EQ(*q15.gflops, 200);
  EXPECT_NEAR(q15.share, 0.25, 1e-12);
  // No operations counted: bytes alone.
  const Roof none = RoofOf(Speed(1 << 16, std::nullopt, (1 << 16) / 20.0), Peaks());
  EXPECT_FALSE(none.gflops);
  EXPECT_TRUE(none.by_memory);
  EXPECT_NEAR(none.share, 0.5, 1e-12);
}

TEST(Roofline, BandwidthIsOfAsManyBytes) {
  EXPECT_DOUBLE_EQ(ReadRateAt(Peaks(), 100), 40);
  EXPECT_DOUBLE_EQ(ReadRateAt(Peaks(), 1 << 20), 40);
  // Half-way between 2^20 and 2^24 in logarithms: the geometric mean of 40 and 10.
  EXPECT_NEAR(ReadRateAt(Peaks(), 1 << 22), 20, 1e-12);
  EXPECT_DOUBLE_EQ(ReadRateAt(Peaks(), std::uint64_t{1} << 40), 10);
}

TEST(Roofline, WithoutProductsOfBytesTheRoofIsThatOfF32) {
  MachinePeaks peaks = Peaks();
  peaks.int8_gops = std::nullopt;
  EXPECT_DOUBLE_EQ(ArithmeticPeak(peaks, "q15"), 100);
  peaks.int8_gops = 150;  // two bytes each: slower than f32, which a kernel could use instead
  EXPECT_DOUBLE_EQ(ArithmeticPeak(peaks, "q15"), 100);
}

TEST(Roofline, OperationsAreCountedByHand) {
  MatmulArgs matmul;
  matmul.w = {.type = DType::kF32, .rows = 3, .cols = 5};
  matmul.m = 7;
  EXPECT_EQ(FlopsOf({.call = matmul}), 2.0 * 3 * 5 * 7);
  AttentionArgs attention;
  attention.rows = 2;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.key_dim = 8;
  attention.value_dim = 16;
  // Each head of each row: a product with 10 keys of 8 values, then 10 cells of 16 values added.
  EXPECT_EQ(FlopsOf({.call = attention, .positions = 10}), 2.0 * 2 * 4 * 10 * (8 + 16));
  AddArgs add;
  add.count = 9;
  EXPECT_EQ(FlopsOf({.call = add}), 9);
  EXPECT_FALSE(FlopsOf({.call = RmsNormArgs()}));
}

TEST(Roofline, PeaksOfThisMachineArePlausible) {
  const auto cpu = FindDevice(ProbeMachine(), "cpu");
  ASSERT_TRUE(cpu.ok()) << cpu.status().message();
  ThreadPool pool(1);
  const auto peaks = MeasurePeaks(*cpu, pool, 8 << 20, 1, nullptr);
  ASSERT_TRUE(peaks.ok()) << peaks.status().message();
  ASSERT_GE(peaks->reads.size(), 3u);
  for (std::size_t i = 1; i < peaks->reads.size(); ++i) {
    EXPECT_GT(peaks->reads[i].bytes, peaks->reads[i - 1].bytes);
  }
  EXPECT_EQ(peaks->reads.back().bytes, 8u << 20);
  for (const ReadRate& rate : peaks->reads) {
    EXPECT_GT(rate.gb_per_s, 0.1);
    EXPECT_LT(rate.gb_per_s, 10000);
  }
  EXPECT_GT(peaks->f32_gflops, 0.1);
  if (cpu->features & kFeatureAvx2) {
    ASSERT_TRUE(peaks->int8_gops);
    EXPECT_GT(*peaks->int8_gops, 0.3 * peaks->f32_gflops);
  }
}

struct Label {
  double x = 0, y = 0;
  std::string text;
};
std::vector<Label> Numbers(const std::string& svg) {
  const std::regex pattern(
      "<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"middle\" "
      "font-size=\"11\"[^>]*>([0-9]+)<");
  std::vector<Label> labels;
  for (std::sregex_iterator it(svg.begin(), svg.end(), pattern), end; it != end; ++it) {
    labels.push_back({std::stod((*it)[1]), std::stod((*it)[2]), (*it)[3]});
  }
  return labels;
}

TEST(Roofline, ThePlotNumbersEveryKernelAndNoNumberHidesAnother) {
  std::vector<OpSpeed> speeds;
  // Clouds of kernels at the same place, as types of one op have.
  for (int i = 0; i < 40; ++i) {
    const double bytes = (1 << 20) * (1 + 0.01 * i);
    speeds.push_back(Speed(static_cast<std::uint64_t>(bytes), bytes * (i % 2 ? 4 : 60),
                           bytes / (20 + 0.05 * i), i % 3 ? "q15" : "f32"));
  }
  speeds.push_back(Speed(1 << 20, std::nullopt, 1e5));
  const std::string svg = RooflineSvg("a <b> & c", speeds, Peaks());
  EXPECT_EQ(svg.rfind("<svg xmlns=", 0), 0u);
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; c"), std::string::npos);
  EXPECT_EQ(svg.find("href"), std::string::npos);
  EXPECT_NE(svg.find("memory 10.0 GB/s (256 MiB)"), std::string::npos);
  EXPECT_NE(svg.find("f32 100 GFLOP/s"), std::string::npos);
  EXPECT_NE(svg.find("15-bit 200 GFLOP/s"), std::string::npos);
  const auto labels = Numbers(svg);
  ASSERT_EQ(labels.size(), 40u);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(labels[i].text, std::to_string(i + 1));
    for (std::size_t j = 0; j < i; ++j) {
      // A digit is 7 wide and 13 high.
      const double width = 3.5 * static_cast<double>(labels[i].text.size() + labels[j].text.size());
      const bool apart = std::abs(labels[i].x - labels[j].x) >= width - 0.2 ||
                         std::abs(labels[i].y - labels[j].y) >= 13 - 0.2;
      EXPECT_TRUE(apart) << labels[i].text << " and " << labels[j].text;
    }
  }
  EXPECT_EQ(RooflineSvg("x", {speeds.back()}, Peaks()), "");
}

}  // namespace
}  // namespace vt
