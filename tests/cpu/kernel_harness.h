// Runs every kernel of an op that this machine has over the same arguments and demands the same
// bits, whatever the number of parts, and that nothing beside the output is touched. An op's
// composed form, run part by part with reference kernels, is held to the same.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "cpu/register.h"
#include "ops/composed.h"
#include "ops/registry.h"
#include "vt/device.h"

namespace vt::test {

// `values` between two runs of guard bytes, all ones: a kernel that reads past the end meets NaNs.
// The values are aligned to their own size and no more.
template <class T>
class Guarded {
 public:
  explicit Guarded(const std::vector<T>& values)
      : count_(values.size()), bytes_(2 * kGuard + count_ * sizeof(T), 0xff) {
    if (count_ > 0) std::memcpy(bytes_.data() + kGuard, values.data(), count_ * sizeof(T));
  }
  T* data() { return reinterpret_cast<T*>(bytes_.data() + kGuard); }
  std::vector<T> Values() const {
    std::vector<T> values(count_);
    if (count_ > 0) std::memcpy(values.data(), bytes_.data() + kGuard, count_ * sizeof(T));
    return values;
  }
  bool Intact() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (bytes_[i] != 0xff || bytes_[bytes_.size() - 1 - i] != 0xff) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 72;  // 8 past a multiple of 64
  std::size_t count_;
  std::vector<std::uint8_t> bytes_;
};

inline bool SameBits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
inline bool SameBits(std::uint8_t a, std::uint8_t b) { return a == b; }
inline bool SameBits(std::int32_t a, std::int32_t b) { return a == b; }

template <class T>
void ExpectSameBits(const std::vector<T>& want, const std::vector<T>& got,
                    const std::string& label) {
  ASSERT_EQ(want.size(), got.size()) << label;
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!SameBits(want[i], got[i]) && wrong++ == 0) first = i;
  }
  EXPECT_EQ(wrong, 0u) << label << ": of " << want.size() << " values; the first at " << first
                       << ": want " << +want[first] << ", got " << +got[first];
}

// Every CPU kernel and every composed form.
inline const Registry& CpuOps() {
  static const Registry registry = [] {
    Registry r;
    RegisterCpuKernels(r);
    RegisterComposedKernels(r);
    return r;
  }();
  return registry;
}

inline std::uint32_t MachineFeatures() {
  static const std::uint32_t features = ProbeCpu().features;
  return features;
}

template <class Args>
void RunParts(const Kernel<Args>& kernel, const Args& args, int parts) {
  // Backwards: no part may lean on one before it.
  for (int i = parts - 1; i >= 0; --i) kernel.run(args, Part{i, parts});
}

// Runs the calls of a composed form in turn, each with the reference kernel that takes it.
inline void RunCalls(const std::vector<AnyArgs>& calls);

template <class Args>
void RunReference(const Args& args) {
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (kernel.tier != Tier::kReference || !kernel.supports(args).yes) continue;
    return RunParts(kernel, args, 1);
  }
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (kernel.device != DeviceKind::kCpu || !kernel.compose || !kernel.supports(args).yes) {
      continue;
    }
    return RunCalls(kernel.compose(args));
  }
  FAIL() << Args::kOp << " has no reference kernel for these arguments";
}

inline void RunCalls(const std::vector<AnyArgs>& calls) {
  for (const AnyArgs& call : calls) {
    std::visit([](const auto& args) { RunReference(args); }, call);
  }
}

template <class Args>
concept HasScratch = requires(Args& args) {
  ScratchFloats(args);
  args.scratch = nullptr;
};

inline constexpr int kMostParts = 9;

// Runs the op over a fresh copy of `initial` for each kernel and part count; bind(args, data)
// points the arguments at the copy. Only composed forms are given scratch. Returns what the
// reference kernel wrote in one part, or the composed form where there is none.
template <class Args, class T, class Bind>
std::vector<T> RunEveryKernel(Args args, const std::vector<T>& initial, Bind bind,
                              const std::string& label) {
  std::vector<T> want;
  bool known = false;
  const auto check = [&](const std::string& name, auto run) {
    const std::string where = label + ", " + name;
    Guarded<T> out(initial);
    bind(args, out.data());
    run();
    EXPECT_TRUE(out.Intact()) << where << ": wrote beside its output";
    if (known) ExpectSameBits(want, out.Values(), where);
    if (!known) want = out.Values();
    known = true;
  };
  for (const bool reference : {true, false}) {
    for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
      if (!kernel.run || (kernel.tier == Tier::kReference) != reference) continue;
      if ((kernel.needs & ~MachineFeatures()) != 0) continue;
      const Support answer = kernel.supports(args);
      EXPECT_TRUE(answer.yes) << label << ": " << kernel.name << ": " << answer.reason;
      for (int parts : {1, 2, 3, kMostParts}) {
        check(kernel.name + ", parts " + std::to_string(parts),
              [&] { RunParts(kernel, args, parts); });
      }
      EXPECT_GE(kernel.max_parts(args), 1) << label;
    }
  }
  for (const Kernel<Args>& kernel : CpuOps().Rows<Args>()) {
    if (kernel.device != DeviceKind::kCpu || !kernel.compose) continue;
    if constexpr (requires { args.scratch_floats = ScratchFloats(args); }) {
      args.scratch_floats = ScratchFloats(args);
    }
    EXPECT_TRUE(kernel.supports(args).yes) << label << ": " << kernel.name;
    if constexpr (HasScratch<Args>) {
      Guarded<float> scratch(
          std::vector<float>(static_cast<std::size_t>(ScratchFloats(args)), NAN));
      args.scratch = scratch.data();
      check(kernel.name, [&] { RunCalls(kernel.compose(args)); });
      EXPECT_TRUE(scratch.Intact()) << label << ": " << kernel.name << " wrote beside its scratch";
      args.scratch = nullptr;
    } else {
      check(kernel.name, [&] { RunCalls(kernel.compose(args)); });
    }
  }
  return want;
}

// Values in [-limit, limit], the same on every machine.
inline std::vector<float> RandomValues(std::size_t count, std::uint32_t seed, float limit = 1.0f) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) {
    v = (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f) * limit;
  }
  return values;
}

// |got - want| <= limit[i]; the failure tells the worst.
inline void ExpectNear(const std::vector<double>& want, const std::vector<float>& got,
                       const std::vector<double>& limit, const std::string& label) {
  ASSERT_EQ(want.size(), got.size()) << label;
  std::size_t wrong = 0, worst = 0;
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double ratio = std::abs(want[i] - got[i]) / limit[i];
    if (ratio <= 1) continue;
    if (wrong++ == 0 || ratio > most) worst = i, most = ratio;
  }
  EXPECT_EQ(wrong, 0u) << label << ": worst at " << worst << ": want " << want[worst] << ", got "
                       << got[worst] << ", allowed " << limit[worst];
}

inline constexpr double kUnit = 0x1p-24;  // half an ulp of 1 in f32

// Relative error of a sum of `cols` terms of one sign in 16 lanes, and of a few steps more.
inline double SumError(std::int64_t cols) { return kUnit * (static_cast<double>(cols) / 16 + 12); }

inline std::string OpShape(const std::string& op, std::int64_t a, std::int64_t b) {
  return op + " " + std::to_string(a) + "x" + std::to_string(b);
}

inline std::size_t Size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Every remainder of a vector, below and above one, and some longer rows.
inline const std::vector<std::int64_t>& Widths() {
  static const std::vector<std::int64_t> widths = [] {
    std::vector<std::int64_t> all;
    for (std::int64_t cols = 1; cols <= 33; ++cols) all.push_back(cols);
    for (std::int64_t cols : {63, 100, 576}) all.push_back(cols);
    return all;
  }();
  return widths;
}

// Values of every size, signs, the ends and NaN.
inline std::vector<float> WideValues(std::size_t count, std::uint32_t seed) {
  std::vector<float> values = RandomValues(count, seed, 12.0f);
  const float special[] = {0.0f,     -0.0f, 1e-40f, -1e-40f, 88.7f,     -88.7f, 104.0f, -104.0f,
                           INFINITY, 1e30f, -1e30f, NAN,     -INFINITY, 3e38f,  0.5f,   -1e-10f};
  for (std::size_t i = 0; i < count; i += 3) values[i] = special[i / 3 % std::size(special)];
  return values;
}

}  // namespace vt::test
