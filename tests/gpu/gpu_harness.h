// Runs a kernel of the GPU source on every device there is: the emulator with both warp sizes and
// several orders of its threads, and each real GPU. Emulated results must agree to the bit; all are
// compared with the CPU's scalar kernel, and guards around every buffer must stay as they were.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device/device_memory.h"
#include "device/gpu_probe.h"
#include "gpu/emulator.h"
#include "gpu/stream.h"
#include "ops/registry.h"

namespace vt::test::gpu {

inline constexpr double kUnit = 0x1p-24;  // half an ulp of 1 in f32

struct Target {
  std::string name;
  DeviceInfo device;
  bool emulated = true;
  gpu_sim::EmulatorOptions options;
};

inline DeviceInfo SimDevice() {
  DeviceInfo device;
  device.id = "sim:0";
  device.kind = DeviceKind::kSim;
  return device;
}

inline const std::vector<Target>& Targets() {
  static const std::vector<Target> targets = [] {
    using gpu_sim::ThreadOrder;
    const DeviceInfo sim = SimDevice();
    std::vector<Target> list = {
        {"sim warp 32", sim, true, {32, ThreadOrder::kForward, 1}},
        {"sim warp 64", sim, true, {64, ThreadOrder::kForward, 1}},
        {"sim warp 32 backward", sim, true, {32, ThreadOrder::kBackward, 1}},
        {"sim warp 64 shuffled", sim, true, {64, ThreadOrder::kShuffled, 7}},
        {"sim warp 32 shuffled", sim, true, {32, ThreadOrder::kShuffled, 9}},
    };
    for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kHip}) {
      for (const DeviceInfo& device : ProbeGpuBackend(kind).devices) {
        list.push_back({device.id + " " + device.name, device, false, {}});
      }
    }
    return list;
  }();
  return targets;
}

inline std::unique_ptr<GpuStream> OpenStream(const Target& target) {
  if (target.emulated) return gpu_sim::OpenEmulator(target.options);
  Result<std::unique_ptr<GpuStream>> stream = OpenGpuStream(target.device);
  EXPECT_TRUE(stream.ok()) << target.name << ": " << stream.status().message();
  return stream.ok() ? std::move(*stream) : nullptr;
}

// The buffers of one call on one device. Each lies between guards whose bytes are all ones: NaNs to
// whoever reads them.
class Buffers {
 public:
  explicit Buffers(const DeviceInfo& device) {
    Result<std::unique_ptr<DeviceMemory>> memory =
        device.kind == DeviceKind::kSim ? OpenDeviceMemory(device) : OpenGpuMemory(device);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    memory_ = std::move(*memory);
  }
  ~Buffers() {
    for (const Block& block : blocks_) memory_->Free(block.base);
  }

  template <class T>
  const T* In(const std::vector<T>& values) {
    return static_cast<T*>(Add(values.data(), values.size() * sizeof(T)));
  }
  // The buffer whose values the test looks at.
  template <class T>
  T* Out(const std::vector<T>& values) {
    T* data = static_cast<T*>(Add(values.data(), values.size() * sizeof(T)));
    out_ = blocks_.size() - 1;
    return data;
  }

  // Of the out buffer.
  template <class T>
  std::vector<T> Values() const {
    const std::vector<std::uint8_t> bytes = Download(blocks_[out_]);
    std::vector<T> values(blocks_[out_].bytes / sizeof(T));
    if (!values.empty()) {
      std::memcpy(values.data(), bytes.data() + kGuard, values.size() * sizeof(T));
    }
    return values;
  }
  // No guard was written to, and no buffer but the out one.
  bool Intact() const {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      const std::vector<std::uint8_t> bytes = Download(block);
      for (std::size_t i = 0; i < kGuard; ++i) {
        if (bytes[i] != 0xff || bytes[bytes.size() - 1 - i] != 0xff) return false;
      }
      if (b != out_ && bytes != block.initial) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  struct Block {
    void* base;
    std::size_t bytes;
    std::vector<std::uint8_t> initial;
  };

  void* Add(const void* values, std::size_t bytes) {
    Block block{nullptr, bytes, std::vector<std::uint8_t>(bytes + 2 * kGuard, 0xff)};
    if (bytes > 0) std::memcpy(block.initial.data() + kGuard, values, bytes);
    Result<void*> memory = memory_->Allocate(block.initial.size());
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    block.base = *memory;
    EXPECT_TRUE(memory_->Upload(block.base, block.initial.data(), block.initial.size()).ok());
    blocks_.push_back(block);
    return static_cast<char*>(block.base) + kGuard;
  }
  std::vector<std::uint8_t> Download(const Block& block) const {
    std::vector<std::uint8_t> bytes(block.initial.size());
    EXPECT_TRUE(memory_->Download(bytes.data(), block.base, bytes.size()).ok());
    return bytes;
  }

  std::unique_ptr<DeviceMemory> memory_;
  std::vector<Block> blocks_;
  std::size_t out_ = 0;
};

template <class Args>
const Kernel<Args>* FindKernel(std::string_view name) {
  for (const Kernel<Args>& kernel : BuiltinKernels().Rows<Args>()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

template <class T>
bool SameBits(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  } else {
    return a == b;
  }
}

template <class T>
void ExpectSameBits(const std::vector<T>& want, const std::vector<T>& got,
                    const std::string& label) {
  ASSERT_EQ(want.size(), got.size()) << label;
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!SameBits(want[i], got[i]) && wrong++ == 0) first = i;
  }
  EXPECT_EQ(wrong, 0u) << label << ": of " << want.size() << " values; the first at " << first
                       << ": want " << want[first] << ", got " << got[first];
}

// |got - want| <= limit(i); where want is a NaN, got is one.
using Limit = std::function<double(std::size_t i)>;
inline void ExpectNear(const std::vector<float>& want, const std::vector<float>& got,
                       const Limit& limit, const std::string& label) {
  ASSERT_EQ(want.size(), got.size()) << label;
  std::size_t wrong = 0, worst = 0;
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (SameBits(want[i], got[i])) continue;
    const double ratio = std::abs(static_cast<double>(want[i]) - got[i]) / limit(i);
    if (ratio <= 1) continue;
    if (wrong++ == 0 || ratio > most) worst = i, most = ratio;
  }
  EXPECT_EQ(wrong, 0u) << label << ": of " << want.size() << " values; worst at " << worst
                       << ": want " << want[worst] << ", got " << got[worst] << ", allowed "
                       << limit(worst);
}

// A sum of n values of which no addend passes through more than this many additions: the scalar
// kernel's 16 lanes and their tree, or the block's threads (64 at least), lanes and groups (at most
// 32). Each addition is off by kUnit of the sum of magnitudes at most.
inline double Chain(std::int64_t n) {
  return static_cast<double>(n) / 16 + static_cast<double>(n) / 32 + 4 + 5 + 32;
}

// Calls of `make` describe the same call with buffers of the device at hand.
template <class Args>
using Make = std::function<Args(Buffers&)>;

template <class Args, class T = float>
std::vector<T> RunReference(const char* kernel_name, const Make<Args>& make) {
  Buffers buffers(SimDevice());
  const Args args = make(buffers);
  const Kernel<Args>* kernel = FindKernel<Args>(kernel_name);
  EXPECT_NE(kernel, nullptr) << Args::kOp << " " << kernel_name;
  if (!kernel) return {};
  EXPECT_TRUE(kernel->supports(args).yes) << Args::kOp << " " << kernel_name;
  kernel->run(args, Part{});
  return buffers.Values<T>();
}

// `suffix` of the kernel's name on each kind of device: "f32".
template <class Args, class T = float>
std::vector<T> RunTarget(const Target& target, const char* suffix, const Make<Args>& make,
                         const std::string& label) {
  const std::string name = std::string(NameOf(target.device.kind)) + "." + suffix;
  const std::string where = label + " on " + target.name;
  const Kernel<Args>* kernel = FindKernel<Args>(name);
  EXPECT_NE(kernel, nullptr) << where << ": no row " << name;
  Buffers buffers(target.device);
  const Args args = make(buffers);
  const std::unique_ptr<GpuStream> stream = OpenStream(target);
  if (!kernel || !stream) return {};
  const Support support = kernel->supports(args);
  EXPECT_TRUE(support.yes) << where << ": " << support.reason;
  const Status launched = kernel->launch(args, *stream);
  EXPECT_TRUE(launched.ok()) << where << ": " << launched.message();
  const Status ran = stream->Synchronize();
  EXPECT_TRUE(ran.ok()) << where << ": " << ran.message();
  EXPECT_TRUE(buffers.Intact()) << where << ": wrote beside its output";
  return buffers.Values<T>();
}

// How far value i may be from want[i]; null asks for the reference's bits.
template <class T>
using LimitOf = std::function<double(const std::vector<T>& want, std::size_t i)>;

template <class Args, class T = float>
void CheckKernel(const char* suffix, const Make<Args>& make, const std::string& label,
                 const std::type_identity_t<LimitOf<T>>& limit,
                 const char* reference = "cpu.scalar.f32") {
  const std::vector<T> want = RunReference<Args, T>(reference, make);
  std::vector<T> first;
  for (const Target& target : Targets()) {
    const std::vector<T> got = RunTarget<Args, T>(target, suffix, make, label);
    const std::string where = std::string(Args::kOp) + " " + label + " on " + target.name;
    if (!limit) {
      ExpectSameBits(want, got, where);
    } else if constexpr (std::is_same_v<T, float>) {
      ExpectNear(
          want, got, [&](std::size_t i) { return limit(want, i); }, where);
      if (!target.emulated) continue;
      if (first.empty()) first = got;
      ExpectSameBits(first, got, where + ", against another order of threads");
    }
  }
}

template <class Args, class T = float>
void CheckSameBits(const char* suffix, const Make<Args>& make, const std::string& label) {
  CheckKernel<Args, T>(suffix, make, label, nullptr);
}

// Values in [-limit, limit], the same on every machine.
inline std::vector<float> RandomValues(std::int64_t count, std::uint32_t seed, float limit = 1.0f) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) {
    v = (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f) * limit;
  }
  return values;
}

// Around every multiple of a group, a warp and a block.
inline const std::vector<std::int64_t> kCounts = {0,  1,   31,  32,  33,  63,   64,
                                                  65, 127, 255, 256, 257, 1000, 1025};
inline const std::vector<std::int64_t> kCols = {1,   2,   31,  32,  33,  63,  64,   65,  127,
                                                129, 255, 257, 511, 512, 513, 1024, 1031};

}  // namespace vt::test::gpu
