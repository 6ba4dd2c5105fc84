// Memory of the host and of the simulated device: limits, planted faults, nothing left behind.
#include "device/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace vt {
namespace {

DeviceInfo Sim(std::optional<std::uint64_t> total, std::optional<std::uint64_t> fail_at = {}) {
  DeviceInfo sim;
  sim.id = "sim:0";
  sim.kind = DeviceKind::kSim;
  sim.memory_total.bytes = total;
  sim.sim.emplace().fail_at_byte = fail_at;
  return sim;
}

TEST(DeviceMemoryTest, GivesZeroedBytesAndTakesThemBack) {
  for (const DeviceInfo& device : {DeviceInfo{}, Sim(1 << 20)}) {
    const auto memory = OpenDeviceMemory(device).value();
    const Result<void*> block = memory->Allocate(100);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*block) % 64, 0u);
    EXPECT_EQ(memory->bytes_in_use(), 100u);
    const char* bytes = static_cast<const char*>(*block);
    EXPECT_TRUE(std::all_of(bytes, bytes + 100, [](char c) { return c == 0; }));
    const std::array<char, 4> sent = {1, 2, 3, 4};
    std::array<char, 4> back = {};
    ASSERT_TRUE(memory->Upload(*block, sent.data(), 4).ok());
    ASSERT_TRUE(memory->Download(back.data(), *block, 4).ok());
    EXPECT_EQ(sent, back);
    memory->Free(*block);
    EXPECT_EQ(memory->bytes_in_use(), 0u);
  }
}

TEST(DeviceMemoryTest, SimulatedMemoryEndsAtItsSize) {
  const auto memory = OpenDeviceMemory(Sim(1000)).value();
  const Result<void*> first = memory->Allocate(600);
  ASSERT_TRUE(first.ok());
  const Result<void*> second = memory->Allocate(401);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kNoMemory);
  EXPECT_EQ(second.status().message(),
            "device sim:0: cannot allocate 401 bytes, 600 in use: it has 1000 bytes");
  EXPECT_TRUE(memory->Allocate(400).ok());
  memory->Free(*first);
  EXPECT_EQ(memory->bytes_in_use(), 400u);
  EXPECT_TRUE(memory->Allocate(600).ok());
}

// A ceiling under the total is what counts.
TEST(DeviceMemoryTest, CeilingUnderTheTotal) {
  DeviceInfo sim = Sim(64000);
  sim.memory_ceiling.bytes = 58000;
  const auto memory = OpenDeviceMemory(sim).value();
  EXPECT_FALSE(memory->Allocate(58001).ok());
  EXPECT_TRUE(memory->Allocate(58000).ok());
}

TEST(DeviceMemoryTest, PlantedFault) {
  const auto memory = OpenDeviceMemory(Sim({}, 1000)).value();
  EXPECT_TRUE(memory->Allocate(1000).ok());
  const Result<void*> next = memory->Allocate(1);
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.status().message(),
            "device sim:0: cannot allocate 1 bytes, 1000 in use: the allocation fails there (its "
            "profile says so)");
}

TEST(DeviceMemoryTest, ArenaGivesItsBlockBack) {
  const auto memory = OpenDeviceMemory(Sim(1 << 20)).value();
  {
    Result<Arena> arena = MakeArena(*memory, 256);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ(memory->bytes_in_use(), 256u);
    EXPECT_NE(arena->Take(200), nullptr);
    EXPECT_EQ(arena->Take(1), nullptr);  // 200 are 256 when aligned
    const Arena moved = std::move(*arena);
    EXPECT_EQ(moved.taken(), 256u);
  }
  EXPECT_EQ(memory->bytes_in_use(), 0u);
  EXPECT_TRUE(MakeArena(*memory, 0).ok());
}

TEST(DeviceMemoryTest, DescribedDevicesHoldNothing) {
  DeviceInfo device = Sim(1 << 20);
  device.described = true;
  const auto memory = OpenDeviceMemory(device);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace vt
