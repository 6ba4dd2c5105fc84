// The ops that on the CPU are other ops in turn, against double.
#include "cpu/fp8_fixture.h"

namespace vt::test {
namespace {

TEST(MatmulAlphaBetaTest, CloseToDouble) {
  constexpr std::int64_t kN = 5;
  for (std::int64_t k : {1, 15, 16, 33, 100}) {
    for (std::int64_t m : {0, 1, 3, 7}) {
      for (float beta : {0.0f, 0.5f}) {
        const auto a = RandomValues(Size(m * k), 81), b = RandomValues(Size(kN * k), 82);
        // With beta 0 what out holds must not be read.
        auto start = RandomValues(Size(m * kN), 83);
        if (beta == 0.0f) start.assign(start.size(), NAN);
        const MatmulAlphaBetaArgs args{
            .b = {.type = DType::kF32, .rows = kN, .cols = k, .data = b.data()},
            .a = a.data(),
            .m = m,
            .alpha = -1.5f,
            .beta = beta};
        const std::string label = OpShape("matmul_alpha_beta", m, k);
        const auto got = RunEveryKernel(
            args, start, [](MatmulAlphaBetaArgs& x, float* out) { x.out = out; }, label);
        std::vector<double> want, limit;
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < kN; ++j) {
            double sum = 0, size = 0;
            for (std::int64_t c = 0; c < k; ++c) {
              const double product = double{a[Size(i * k + c)]} * double{b[Size(j * k + c)]};
              sum += product;
              size += std::abs(product);
            }
            const double kept = beta == 0.0f ? 0.0 : beta * double{start[Size(i * kN + j)]};
            want.push_back(-1.5 * sum + kept);
            limit.push_back(1.5 * size * SumError(k) +
                            2 * kUnit * (std::abs(kept) + std::abs(want.back())) + 1e-30);
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

TEST(ApplyExpertScaleTest, Exact) {
  const std::vector<float> scales = {0.25f, -3.7f, 0.0f, 1.1f};
  const std::vector<std::int32_t> ids = {3, 0, 0, 1, 2, 3, 1};
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      const auto x = RandomValues(Size(rows * cols), 84);
      const ApplyExpertScaleArgs args{.x = x.data(),
                                      .scales = scales.data(),
                                      .ids = ids.data(),
                                      .experts = 4,
                                      .rows = rows,
                                      .cols = cols};
      const std::string label = OpShape("apply_expert_scale", rows, cols);
      const auto got = RunEveryKernel(
          args, std::vector<float>(x.size()),
          [](ApplyExpertScaleArgs& a, float* out) { a.out = out; }, label);
      std::vector<float> want;
      for (std::int64_t i = 0; i < rows * cols; ++i) {
        want.push_back(x[Size(i)] * scales[Size(ids[Size(i / cols)])]);
      }
      ExpectSameBits(want, got, label);
    }
  }
}

TEST(ExpertGegluTest, CloseToDouble) {
  constexpr std::int64_t kExperts = 3, kN = 5;
  const std::vector<std::int32_t> ids = {2, 0, 0, 1, 2, 1, 1};
  for (std::int64_t k : {1, 16, 33, 100}) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      const F8Matrix gate(kExperts * kN, k, 10), up(kExperts * kN, k, 11);
      const auto x = RandomValues(Size(rows * k), 85);
      const ExpertGegluArgs args{.gate = gate.weight(),
                                 .up = up.weight(),
                                 .experts = kExperts,
                                 .x = x.data(),
                                 .ids = ids.data(),
                                 .rows = rows};
      const std::string label = OpShape("expert_geglu", rows, k);
      const auto got = RunEveryKernel(
          args, std::vector<float>(Size(rows * kN)),
          [](ExpertGegluArgs& a, float* out) { a.out = out; }, label);
      std::vector<double> want, limit;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t n = 0; n < kN; ++n) {
          const std::int64_t row = ids[Size(r)] * kN + n;
          const auto dot = [&](const F8Matrix& w) {
            std::pair<double, double> sum;
            for (std::int64_t c = 0; c < k; ++c) {
              const double product = double{w.Value(row, c)} * double{x[Size(r * k + c)]};
              sum.first += product;
              sum.second += std::abs(product);
            }
            return sum;
          };
          const auto [g, g_size] = dot(gate);
          const auto [u, u_size] = dot(up);
          const double inner = std::sqrt(2 / std::acos(-1.0)) * (g + 0.044715 * g * g * g);
          const double act = g / 2 * (1 + std::tanh(inner));
          want.push_back(act * u);
          // gelu's slope lies within 1.13.
          limit.push_back(1.13 * g_size * SumError(k) * std::abs(u) +
                          std::abs(act) * u_size * SumError(k) + 9 * kUnit * std::abs(want.back()) +
                          1e-7 * std::abs(u) + 1e-30);
        }
      }
      ExpectNear(want, got, limit, label);
    }
  }
}

}  // namespace
}  // namespace vt::test
