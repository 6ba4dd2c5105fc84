// The emulator itself: what a kernel may rely on, and what it catches.
#include "gpu/emulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gpu/reduce.h"
#include "gpu/rt.h"

namespace vt::gpu_sim {
namespace {

const std::vector<EmulatorOptions> kEveryWay = {
    {32, ThreadOrder::kForward, 1},  {64, ThreadOrder::kForward, 1},
    {32, ThreadOrder::kBackward, 1}, {64, ThreadOrder::kBackward, 1},
    {32, ThreadOrder::kShuffled, 3}, {64, ThreadOrder::kShuffled, 4}};

VT_KERNEL Reverse(View<const int> in, View<int> out) {
  VT_SHARED(int, held, 256);
  const std::int64_t begin = BlockIndex() * ThreadCount();
  held[ThreadIndex()] = in[begin + ThreadIndex()];
  Barrier();
  out[begin + ThreadIndex()] = held[ThreadCount() - 1 - ThreadIndex()];
}

TEST(Emulator, BarriersOrderWhatABlockShares) {
  std::vector<int> in(3 * 96), out(in.size());
  std::iota(in.begin(), in.end(), 0);
  for (const EmulatorOptions& options : kEveryWay) {
    std::fill(out.begin(), out.end(), -1);
    const auto stream = OpenEmulator(options);
    ASSERT_TRUE(Launch(*stream, "reverse", {3, 96}, Reverse,
                       View<const int>(in.data(), std::ssize(in)),
                       View<int>(out.data(), std::ssize(out)))
                    .ok());
    for (int b = 0; b < 3; ++b) {
      for (int t = 0; t < 96; ++t) {
        EXPECT_EQ(out[static_cast<std::size_t>(b * 96 + t)], b * 96 + 95 - t);
      }
    }
  }
}

VT_KERNEL ManyBarriers(View<int> out) {
  VT_SHARED(int, held, 64);
  held[ThreadIndex()] = ThreadIndex();
  for (int step = 0; step < 10; ++step) {
    Barrier();
    const int next = held[(ThreadIndex() + 1) % ThreadCount()];
    Barrier();
    held[ThreadIndex()] = next;
  }
  out[ThreadIndex()] = held[ThreadIndex()];
}
TEST(Emulator, BarriersCanBeRepeated) {
  for (const EmulatorOptions& options : kEveryWay) {
    std::vector<int> out(64);
    const auto stream = OpenEmulator(options);
    ASSERT_TRUE(Launch(*stream, "turn", {1, 64}, ManyBarriers, View<int>(out.data(), 64)).ok());
    for (int t = 0; t < 64; ++t) EXPECT_EQ(out[static_cast<std::size_t>(t)], (t + 10) % 64);
  }
}

VT_KERNEL Shuffles(View<int> by_xor, View<int> by_down, int mask, int delta) {
  by_xor[ThreadIndex()] = ShuffleXor(ThreadIndex(), mask);
  by_down[ThreadIndex()] = ShuffleDown(ThreadIndex(), delta);
}
TEST(Emulator, ShufflesExchangeWithinAWarp) {
  for (const EmulatorOptions& options : kEveryWay) {
    const int warp = options.warp_size;
    for (const int mask : {1, 5, 16, 31, warp - 1}) {
      for (const int delta : {0, 1, 7, 31}) {
        std::vector<int> by_xor(128), by_down(128);
        const auto stream = OpenEmulator(options);
        ASSERT_TRUE(Launch(*stream, "shuffles", {1, 128}, Shuffles, View<int>(by_xor.data(), 128),
                           View<int>(by_down.data(), 128), mask, delta)
                        .ok());
        for (int t = 0; t < 128; ++t) {
          const auto at = static_cast<std::size_t>(t);
          EXPECT_EQ(by_xor[at], t ^ mask) << warp << " " << mask;
          // A lane with nobody below it keeps its own.
          EXPECT_EQ(by_down[at], t % warp + delta < warp ? t + delta : t) << warp << " " << delta;
        }
      }
    }
  }
}

VT_KERNEL WarpSum(View<float> sums, View<int> warps) {
  sums[ThreadIndex()] = GroupSum(static_cast<float>(ThreadIndex()));
  warps[ThreadIndex()] = WarpSize();
}
TEST(Emulator, GroupsOf32AreTheSameInEveryWarp) {
  for (const EmulatorOptions& options : kEveryWay) {
    std::vector<float> sums(96);  // of a warp of 64, the last half is empty
    std::vector<int> warps(96);
    const auto stream = OpenEmulator(options);
    ASSERT_TRUE(Launch(*stream, "sums", {1, 96}, WarpSum, View<float>(sums.data(), 96),
                       View<int>(warps.data(), 96))
                    .ok());
    for (int t = 0; t < 96; ++t) {
      EXPECT_EQ(sums[static_cast<std::size_t>(t)], static_cast<float>(t / 32 * 32 * 32 + 496));
      EXPECT_EQ(warps[static_cast<std::size_t>(t)], options.warp_size);
    }
  }
}

VT_KERNEL HalfLeaves(View<float> out) {
  if (ThreadIndex() % 32 >= 16) return;
  out[ThreadIndex()] = ShuffleXor(1.0f, ThreadIndex() < 32 ? 1 : 16);
}
TEST(Emulator, AShuffleIsOfTheLanesThatAreLeft) {
  for (const EmulatorOptions& options : kEveryWay) {
    std::vector<float> out(64, 0.0f);
    const auto stream = OpenEmulator(options);
    ASSERT_TRUE(Launch(*stream, "half", {1, 64}, HalfLeaves, View<float>(out.data(), 64)).ok());
    for (std::size_t t = 0; t < 16; ++t) EXPECT_EQ(out[t], 1.0f);
    // Taken from lanes that are gone.
    for (std::size_t t = 32; t < 48; ++t) EXPECT_TRUE(std::isnan(out[t])) << t;
  }
}

VT_KERNEL KeepsShared(View<float> seen, bool first) {
  VT_SHARED(float, held, 8);
  if (ThreadIndex() == 0) seen[BlockIndex()] = held[3];
  Barrier();
  if (first || BlockIndex() == 0) held[ThreadIndex() % 8] = 5.0f;
}
TEST(Emulator, SharedMemoryIsPoisonedBetweenBlocks) {
  std::vector<float> seen(3, 0.0f);
  const auto stream = OpenEmulator();
  ASSERT_TRUE(
      Launch(*stream, "keeps", {3, 32}, KeepsShared, View<float>(seen.data(), 3), true).ok());
  for (const float value : seen) EXPECT_TRUE(std::isnan(value));
}

VT_KERNEL Dynamic(View<float> out, int count) {
  VT_SHARED(float, fixed, 4);
  VT_DYNAMIC_SHARED(float, held, count);
  if (ThreadIndex() < 4) fixed[ThreadIndex()] = 100.0f;
  if (ThreadIndex() < count) held[ThreadIndex()] = static_cast<float>(ThreadIndex());
  Barrier();
  if (ThreadIndex() < count) out[ThreadIndex()] = held[count - 1 - ThreadIndex()];
}
TEST(Emulator, DynamicSharedMemoryIsAsLargeAsLaunched) {
  std::vector<float> out(20, -1.0f);
  const auto stream = OpenEmulator();
  ASSERT_TRUE(
      Launch(*stream, "dynamic", {1, 32, 80}, Dynamic, View<float>(out.data(), 20), 20).ok());
  for (int t = 0; t < 20; ++t)
    EXPECT_EQ(out[static_cast<std::size_t>(t)], 19.0f - static_cast<float>(t));
  const Status status =
      Launch(*stream, "dynamic", {1, 32, 40}, Dynamic, View<float>(out.data(), 20), 20);
  EXPECT_EQ(status.code(), Code::kDevice);
  EXPECT_NE(status.message().find("write of index 10 of a buffer of 10 values of 4 bytes"),
            std::string::npos)
      << status.message();
}

VT_KERNEL TooMuchShared(View<float> out) {
  VT_SHARED(float, held, 16 << 10);
  held[ThreadIndex()] = 1.0f;
  out[ThreadIndex()] = held[ThreadIndex()];
}
TEST(Emulator, SharedMemoryHasALimit) {
  std::vector<float> out(32);
  const auto stream = OpenEmulator();
  const Status status =
      Launch(*stream, "large", {1, 32}, TooMuchShared, View<float>(out.data(), 32));
  EXPECT_EQ(status.code(), Code::kDevice);
  EXPECT_EQ(status.message().substr(0, 99),
            "kernel large: block 0, thread 0: wants 65536 bytes of shared memory on top of 0, a "
            "block has 49152;");
}

VT_KERNEL DivergentBarrier(View<int> out) {
  if (ThreadIndex() == 5) return;
  Barrier();
  out[ThreadIndex()] = 1;
}
TEST(Emulator, ABarrierThatAThreadNeverReachesIsAnError) {
  for (const EmulatorOptions& options : kEveryWay) {
    std::vector<int> out(64, 0);
    const auto stream = OpenEmulator(options);
    const Status status =
        Launch(*stream, "diverges", {2, 64}, DivergentBarrier, View<int>(out.data(), 64));
    EXPECT_EQ(status.code(), Code::kDevice);
    EXPECT_EQ(status.message(),
              "kernel diverges: block 0, thread 0: waits at a barrier that thread 5 never reaches: "
              "it has left the kernel");
    // And the stream can be used again.
    EXPECT_FALSE(stream->Synchronize().ok());
    std::vector<int> xor_out(64), down_out(64);
    EXPECT_TRUE(Launch(*stream, "after", {1, 64}, Shuffles, View<int>(xor_out.data(), 64),
                       View<int>(down_out.data(), 64), 1, 1)
                    .ok());
    EXPECT_TRUE(stream->Synchronize().ok());
    EXPECT_EQ(xor_out[8], 9);
  }
}

VT_KERNEL DivergentShuffle(View<int> out) {
  if (ThreadIndex() < 40) {
    out[ThreadIndex()] = ShuffleXor(1, 1);
  } else {
    Barrier();
  }
}
VT_KERNEL MixedShuffles(View<int> out) {
  out[ThreadIndex()] = ThreadIndex() % 2 == 0 ? ShuffleXor(1, 1) : ShuffleDown(1, 1);
}
TEST(Emulator, AShuffleThatLanesNeverReachIsAnError) {
  for (const EmulatorOptions& options : kEveryWay) {
    std::vector<int> out(64, 0);
    const auto stream = OpenEmulator(options);
    const Status barrier =
        Launch(*stream, "splits", {1, 64}, DivergentShuffle, View<int>(out.data(), 64));
    EXPECT_EQ(barrier.message(), "kernel splits: block 0, thread " +
                                     std::to_string(options.warp_size == 32 ? 32 : 0) +
                                     ": waits at a shuffle that other threads of its warp do not "
                                     "reach");
    const Status mixed =
        Launch(*stream, "mixes", {1, 64}, MixedShuffles, View<int>(out.data(), 64));
    EXPECT_EQ(mixed.message(),
              "kernel mixes: block 0, thread 0: waits at a shuffle that other threads of its warp "
              "do not reach");
  }
}

VT_KERNEL CopyFrom(View<const float> x, View<float> out, std::int64_t from, std::int64_t to) {
  const std::int64_t i = BlockIndex() * ThreadCount() + ThreadIndex();
  out[to + i] = x[from + i];
}
TEST(Emulator, ReadsBesideABufferAreCaught) {
  const std::vector<float> x(1000, 3.0f);
  for (const std::int64_t from : {1, -1}) {
    std::vector<float> out(1000, 9.0f);
    const auto stream = OpenEmulator();
    const Status status =
        Launch(*stream, "copy", {10, 100}, CopyFrom, View<const float>(x.data(), 1000),
               View<float>(out.data(), 1000), from, std::int64_t{0});
    EXPECT_EQ(status.code(), Code::kDevice);
    EXPECT_EQ(status.message(),
              from == 1 ? "kernel copy: block 9, thread 99: read of index 1000 of a buffer of 1000 "
                          "values of 4 bytes"
                        : "kernel copy: block 0, thread 0: read of index -1 of a buffer of 1000 "
                          "values of 4 bytes");
    EXPECT_EQ(out[from == 1 ? 999 : 0], 0.0f);  // what such a read gives
    // The launch said it; the stream says it once more.
    EXPECT_EQ(stream->Synchronize().message(), status.message());
    EXPECT_TRUE(stream->Synchronize().ok());
  }
}

TEST(Emulator, WritesBesideABufferAreCaughtAndDropped) {
  const std::vector<float> x(1000, 3.0f);
  std::vector<float> memory(1100, 9.0f);  // the buffer is its middle
  const auto stream = OpenEmulator();
  const Status status =
      Launch(*stream, "copy", {10, 100}, CopyFrom, View<const float>(x.data(), 1000),
             View<float>(memory.data() + 50, 1000), std::int64_t{0}, std::int64_t{40});
  EXPECT_EQ(status.message(),
            "kernel copy: block 9, thread 60: write of index 1000 of a buffer of 1000 values of 4 "
            "bytes; 39 more in the same block");
  for (std::size_t i = 0; i < memory.size(); ++i) {
    EXPECT_EQ(memory[i], i >= 90 && i < 1050 ? 3.0f : 9.0f) << i;
  }
}

VT_KERNEL LoadWord(View<const std::uint8_t> bytes, View<std::uint32_t> out, std::int64_t at) {
  out[ThreadIndex()] = bytes.Load<std::uint32_t>(at);
}
TEST(Emulator, LoadsOfWordsAreHeldToBoundsAndAlignment) {
  alignas(8) const std::uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::uint32_t> out(1);
  const auto load = [&](std::int64_t at) {
    const auto stream = OpenEmulator();
    return Launch(*stream, "load", {1, 1}, LoadWord, View<const std::uint8_t>(bytes, 8),
                  View<std::uint32_t>(out.data(), 1), at)
        .message();
  };
  EXPECT_EQ(load(4), "");
  EXPECT_EQ(out[0], 0x08070605u);
  EXPECT_EQ(load(8),
            "kernel load: block 0, thread 0: read of 4 bytes from byte 8 of a buffer of 8 bytes");
  EXPECT_EQ(load(-4),
            "kernel load: block 0, thread 0: read of 4 bytes from byte -4 of a buffer of 8 bytes");
  EXPECT_EQ(load(2),
            "kernel load: block 0, thread 0: misaligned read of 4 bytes from byte 2 of a buffer of "
            "8 bytes");
}

VT_KERNEL WriteNull(View<float> out) { out[ThreadIndex()] = 1.0f; }
TEST(Emulator, ABufferThatIsNotThereHasNoValues) {
  const auto stream = OpenEmulator();
  const Status status = Launch(*stream, "null", {1, 1}, WriteNull, View<float>(nullptr, 100));
  EXPECT_EQ(status.message(),
            "kernel null: block 0, thread 0: write of index 0 of a buffer of 0 values of 4 bytes");
}

VT_KERNEL LastWins(View<int> out) { out[0] = ThreadIndex(); }
TEST(Emulator, ThreadsCanBeRunInOtherOrders) {
  const auto last = [](const EmulatorOptions& options) {
    int out = -1;
    const auto stream = OpenEmulator(options);
    EXPECT_TRUE(Launch(*stream, "race", {1, 128}, LastWins, View<int>(&out, 1)).ok());
    return out;
  };
  EXPECT_EQ(last({32, ThreadOrder::kForward, 1}), 127);
  EXPECT_EQ(last({32, ThreadOrder::kBackward, 1}), 0);
  const int shuffled = last({64, ThreadOrder::kShuffled, 5});
  EXPECT_EQ(shuffled, last({64, ThreadOrder::kShuffled, 5}));
  bool differs = false;
  for (std::uint32_t seed = 6; seed < 12; ++seed) {
    differs |= last({64, ThreadOrder::kShuffled, seed}) != shuffled;
  }
  EXPECT_TRUE(differs);
}

TEST(Emulator, HostThreadsHaveEmulatorsOfTheirOwn) {
  std::vector<std::vector<int>> outs(4, std::vector<int>(50 * 64));
  std::vector<std::jthread> hosts;
  for (std::vector<int>& out : outs) {
    hosts.emplace_back([&out] {
      const std::vector<int> in(out.size(), 6);
      const auto stream = OpenEmulator();
      EXPECT_TRUE(Launch(*stream, "reverse", {50, 64}, Reverse,
                         View<const int>(in.data(), std::ssize(in)),
                         View<int>(out.data(), std::ssize(out)))
                      .ok());
    });
  }
  hosts.clear();
  for (const std::vector<int>& out : outs) EXPECT_EQ(out, std::vector<int>(out.size(), 6));
}

TEST(Emulator, ImpossibleLaunchesAreRefused) {
  std::vector<float> out(1);
  const auto stream = OpenEmulator();
  for (const LaunchShape& shape :
       {LaunchShape{0, 32}, LaunchShape{1, 0}, LaunchShape{1, 1025}, LaunchShape{1, 32, 1 << 20},
        LaunchShape{std::int64_t{1} << 31, 32}}) {
    const Status status = Launch(*stream, "shape", shape, WriteNull, View<float>(out.data(), 1));
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_NE(status.message().find("cannot be launched"), std::string::npos);
  }
  EXPECT_TRUE(stream->Synchronize().ok());  // none of them ran
}

}  // namespace
}  // namespace vt::gpu_sim
