// Runs every kernel of an op that this machine has over the same arguments and demands the same
// bits, whatever the number of parts, and that nothing beside the output is touched.
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
#include "ops/registry.h"

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

inline const Registry& ElementwiseKernelsOnly() {
  static const Registry registry = [] {
    Registry r;
    RegisterCpuElementwise(r);
    return r;
  }();
  return registry;
}

template <class Args>
void RunParts(const Kernel<Args>& kernel, const Args& args, int parts) {
  // Backwards: no part may lean on one before it.
  for (int i = parts - 1; i >= 0; --i) kernel.run(args, Part{i, parts});
}

inline constexpr int kMostParts = 5;

// Runs the op over a fresh copy of `initial` for each kernel and part count; bind(args, data)
// points the arguments at the copy. Returns what the reference kernel wrote in one part.
template <class Args, class T, class Bind>
std::vector<T> RunEveryKernel(Args args, const std::vector<T>& initial, Bind bind,
                              const std::string& label) {
  const auto& rows = ElementwiseKernelsOnly().Rows<Args>();
  const std::uint32_t features = ProbeCpu().features;
  std::vector<T> want;
  for (const Kernel<Args>& kernel : rows) {
    if (kernel.tier != Tier::kReference) continue;
    Guarded<T> out(initial);
    bind(args, out.data());
    RunParts(kernel, args, 1);
    EXPECT_TRUE(out.Intact()) << label << ": " << kernel.name << " wrote beside its output";
    want = out.Values();
  }
  for (const Kernel<Args>& kernel : rows) {
    if ((kernel.needs & ~features) != 0) continue;
    EXPECT_TRUE(kernel.supports(args).yes) << label << ": " << kernel.name;
    for (int parts : {1, 2, 3, kMostParts}) {
      const std::string where = label + ", " + kernel.name + ", parts " + std::to_string(parts);
      Guarded<T> out(initial);
      bind(args, out.data());
      RunParts(kernel, args, parts);
      EXPECT_TRUE(out.Intact()) << where << ": wrote beside its output";
      ExpectSameBits(want, out.Values(), where);
    }
    EXPECT_GE(kernel.max_parts(args), 1) << label;
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

}  // namespace vt::test
