// Peaks of phases: the kernel's mark, the prediction beside it, and devices that resident memory
// says nothing of.
#include "bench/memory_peaks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bench/bench_run.h"
#include "cli/program.h"  // kMeasured
#include "support/sim_run.h"

namespace vt {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

void Put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(path.substr(0, path.rfind('/')));
  std::ofstream(path) << text;
}

// Pages that the process holds while this lives.
class Ballast {
 public:
  explicit Ballast(std::uint64_t bytes) : bytes_(bytes) {
    map_ = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(map_, MAP_FAILED);
    std::fill_n(map_, bytes, 'b');
  }
  ~Ballast() { munmap(map_, bytes_); }

 private:
  std::uint64_t bytes_;
  char* map_ = nullptr;
};

TEST(ResidentMeter, WhatCannotBeReadOrBegunAnewIsUnknown) {
  const std::string root = test::TempDir();
  const auto lap = [&](std::string* reason) {
    ResidentMeter meter(root);
    const auto bytes = meter.Lap();
    *reason = meter.reason();
    EXPECT_EQ(meter.Lap(), bytes);
    return bytes;
  };
  std::string reason;
  if (!test::kMeasured) {
    EXPECT_EQ(lap(&reason), std::nullopt);
    EXPECT_EQ(reason, "this build's sanitizer holds memory of its own");
    return;
  }
  EXPECT_EQ(lap(&reason), std::nullopt);
  EXPECT_EQ(reason, root + "/proc/self/status: has no VmHWM");
  Put(root + "/proc/self/status", "VmPeak:\t  900 kB\nVmHWM:\t     0 kB\n");
  EXPECT_EQ(lap(&reason), std::nullopt);
  EXPECT_EQ(reason, root + "/proc/self/status: has no VmHWM");
  Put(root + "/proc/self/status", "VmPeak:\t  900 kB\nVmHWM:\t     7 kB\nVmRSS:\t  5 kB\n");
  EXPECT_EQ(lap(&reason), std::nullopt);
  EXPECT_EQ(reason, root + "/proc/self/clear_refs: No such file or directory");
  Put(root + "/proc/self/clear_refs/x", "");
  EXPECT_EQ(lap(&reason), std::nullopt);
  EXPECT_EQ(reason, root + "/proc/self/clear_refs: Is a directory");
  std::filesystem::remove_all(root + "/proc/self/clear_refs");
  Put(root + "/proc/self/clear_refs", "");
  EXPECT_EQ(lap(&reason), 7u * 1024);
  EXPECT_EQ(reason, "");
  EXPECT_EQ(test::ReadFile(root + "/proc/self/clear_refs"), "5");
}

TEST(ResidentMeter, ALapForgetsWhatTheOneBeforeHeld) {
  if (!test::kMeasured) return;
  ResidentMeter meter("");
  ASSERT_TRUE(meter.Lap().has_value()) << meter.reason();
  const std::uint64_t before = meter.Lap().value();
  { const Ballast ballast(64 * kMib); }
  const std::uint64_t with = meter.Lap().value(), after = meter.Lap().value();
  EXPECT_NEAR(static_cast<double>(with - before), 64e6, 6e6);
  EXPECT_NEAR(static_cast<double>(after), static_cast<double>(before), 3e6);
}

TEST(PhasePeak, AReadingThatFailsMakesTheMostUnknown) {
  PhasePeak peak{std::nullopt, "not reached"};
  peak.Add(5, "");
  peak.Add(3, "");
  EXPECT_EQ(peak.bytes, 5u);
  EXPECT_EQ(peak.reason, "");
  peak.Add(std::nullopt, "gone");
  EXPECT_EQ(peak.bytes, std::nullopt);
  EXPECT_EQ(peak.reason, "gone");
}

// A small model on a simulated device.
BenchRecord RunOnSim() {
  const test::TinyModel model = test::OpenTiny("llama-dense");
  BenchRecord record;
  record.settings.engine = test::OnSims(1, 0);
  record.settings.prompt = 8;
  record.settings.gen = 4;
  record.settings.repetitions = 1;
  record.settings.warmups = 0;
  const BenchInput input{
      .file = &model.file, .spec = &model.spec, .tokenizer = nullptr, .prompt = {}};
  const Status status = RunBench(input, {}, &record);
  EXPECT_TRUE(status.ok()) << status.message();
  return record;
}

std::uint64_t RowsOf(const BenchRecord& record, std::string_view device) {
  std::uint64_t bytes = 0;
  for (const MemoryRow& row : record.memory) {
    if (row.device == device) bytes += row.allocated_bytes;
  }
  return bytes;
}

std::size_t VoidsOfMemory(const BenchRecord& record) {
  std::size_t count = 0;
  for (const BenchVoid& one : record.voids) count += one.code == "memory_over_plan";
  return count;
}

// Resident memory that is none of the run's: the simulated device tells what it told without, and
// the host is above its plan in every phase.
TEST(MemoryPeaks, BallastIsTheHostsAndNoDevices) {
  const BenchRecord plain = RunOnSim();
  BenchRecord laden;
  {
    const Ballast ballast(256 * kMib);
    laden = RunOnSim();
  }
  const BenchRecord* const runs[] = {&plain, &laden};
  for (const BenchRecord* record : runs) {
    ASSERT_EQ(record->peaks.size(), 2u);
    const DevicePeaks &host = record->peaks[0], &sim = record->peaks[1];
    EXPECT_EQ(host.device, "cpu");
    EXPECT_TRUE(host.resident);
    EXPECT_EQ(sim.device, "sim:0");
    EXPECT_FALSE(sim.resident);
    EXPECT_GT(sim.rows_bytes, 0u);
    EXPECT_EQ(host.simulated_bytes, sim.rows_bytes);
    EXPECT_EQ(sim.runtime_bytes, std::nullopt);
    for (const BenchPhase phase : kBenchPhases) {
      EXPECT_EQ(sim.At(phase).bytes, RowsOf(*record, "sim:0")) << NameOf(phase);
      EXPECT_EQ(sim.Residual(phase), 0) << NameOf(phase);
    }
  }
  if (!test::kMeasured) {
    EXPECT_EQ(VoidsOfMemory(laden), 0u);
    EXPECT_EQ(laden.peaks[0].At(BenchPhase::kLoad).bytes, std::nullopt);
    return;
  }
  EXPECT_EQ(VoidsOfMemory(laden), 3u);
  for (const BenchPhase phase : kBenchPhases) {
    ASSERT_TRUE(plain.peaks[0].At(phase).bytes && laden.peaks[0].At(phase).bytes);
    const std::uint64_t without = *plain.peaks[0].At(phase).bytes;
    EXPECT_GT(without, plain.peaks[1].At(phase).bytes) << "a simulated device is host memory";
    EXPECT_NEAR(static_cast<double>(*laden.peaks[0].At(phase).bytes - without) / kMib, 256, 24);
    EXPECT_GE(laden.peak_resident_bytes, laden.peaks[0].At(phase).bytes);
  }
}

TEST(MemoryPeaks, APredictionIsTheSumOfItsParts) {
  const test::TinyModel model = test::OpenTiny("llama-dense");
  DeviceInfo sim = test::Sim();
  sim.id = "sim:0";
  const DeviceInfo cpu;
  const std::vector<MemoryRow> rows = {{"cpu", "weights.kept", 100, 100, "mapped"},
                                       {"cpu", "kv.full", 30, 30, ""},
                                       {"sim:0", "kv.full", 7, 7, ""}};
  const std::vector<const DeviceInfo*> devices = {&cpu, &sim};
  const std::vector<DevicePeaks> peaks = PredictPeaks(model.file, rows, devices);
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_EQ(peaks[0].rows_bytes, 130u);
  EXPECT_EQ(peaks[0].simulated_bytes, 7u);
  EXPECT_GT(peaks[0].runtime_bytes, 8 * kMib);
  EXPECT_EQ(peaks[0].margin_bytes, 32 * kMib);
  EXPECT_EQ(peaks[0].predicted_bytes(), 137 + *peaks[0].runtime_bytes + *peaks[0].margin_bytes);
  EXPECT_EQ(peaks[0].allowance_bytes, 64 * kMib);
  EXPECT_EQ(peaks[1].predicted_bytes(), 7u);
  EXPECT_EQ(peaks[1].allowance_bytes, 0u);
  EXPECT_EQ(peaks[1].At(BenchPhase::kDecode).reason, "not reached");
}

}  // namespace
}  // namespace vt
