// The verification finds what is wrong with a kernel, whatever the kernel does.
#include "caps/verify.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "ops/resolve.h"

namespace vt::test {
namespace {

using State = VerifyFigures::State;

Support Yes(const AddArgs& a) {
  if (a.count < 0) return {false, "a negative count"};
  return {};
}

void Right(const AddArgs& a, Part part) {
  const Range range = Share(a.count, part);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    a.out[i] = __builtin_fmaf(a.b[i], a.scale, a.a[i]);
  }
}
void RaiseIll(const AddArgs&, Part) { raise(SIGILL); }
void Abort(const AddArgs&, Part) { std::abort(); }
void Exit(const AddArgs&, Part) { _exit(3); }
void LoopForever(const AddArgs&, Part) {
  while (true) pause();  // no signal with a handler comes
}
void WriteBeside(const AddArgs& a, Part part) {
  Right(a, part);
  if (part.index == part.count - 1) a.out[a.count] = 1;
}
void WriteBefore(const AddArgs& a, Part part) {
  Right(a, part);
  a.out[-1] = 0;
}
void WriteOnInput(const AddArgs& a, Part part) {
  Right(a, part);
  if (a.count > 0) const_cast<float*>(a.b)[0] += 1;
}
void WrongLast(const AddArgs& a, Part part) {
  Right(a, part);
  if (a.count > 20 && part.index == part.count - 1) a.out[a.count - 1] += 1e-6f;
}
void LastBitOff(const AddArgs& a, Part part) {
  Right(a, part);
  if (part.index == 0 && a.count > 3) a.out[3] = std::nextafter(a.out[3], 10.0f);
}
void LeavesAHole(const AddArgs& a, Part part) {
  AddArgs shorter = a;
  if (a.count == 17) --shorter.count;
  Right(shorter, part);
}
void WrongInParts(const AddArgs& a, Part part) {  // forgets the last part
  if (part.count == 1 || part.index + 1 < part.count) Right(a, part);
}
Support TakesTooMuch(const MulArgs& a) {
  if (a.rows < 0) return {false, "negative rows"};
  return {};
}
void RightMul(const MulArgs& a, Part part) {
  const Range rows = Share(a.rows, part);
  for (std::int64_t i = rows.begin * a.cols; i < rows.end * a.cols; ++i) {
    a.out[i] = a.a[i] * a.b[a.b_cols == 1 ? i / a.cols : i];
  }
}

DeviceInfo Cpu() {
  DeviceInfo device;
  device.id = "cpu";
  return device;
}

// The figures of a kernel of `add` with this function, in a table with all the others.
VerifyFigures FiguresOf(void (*run)(const AddArgs&, Part), std::int64_t timeout_s = 30) {
  Registry registry = BuiltinKernels();
  registry.Add(Kernel<AddArgs>{.name = "cpu.suspect",
                               .device = DeviceKind::kCpu,
                               .tier = Tier::kNative,
                               .priority = 99,
                               .supports = Yes,
                               .run = run});
  Machine machine;
  machine.devices = {Cpu()};
  CapsReport report = MakeCapsReport(registry, machine, {{"add"}, {}, {}});
  VerifyOptions options;
  options.timeout_s = timeout_s;
  EXPECT_TRUE(Verify(registry, options, report).ok());
  VerifyFigures suspect;
  for (const CapsRow& row : report.rows) {
    // Whatever the suspect does, the other rows are run and are right.
    if (row.state != CapsRow::State::kUsable) continue;
    EXPECT_EQ(row.verify.size(), 1u) << row.kernel;
    if (row.verify.empty()) continue;
    if (row.kernel == "cpu.suspect") {
      suspect = row.verify[0];
    } else {
      EXPECT_EQ(row.verify[0].state, State::kOk) << row.kernel << ": " << row.verify[0].reason;
      EXPECT_GT(row.verify[0].cases, 50);
    }
  }
  EXPECT_EQ(AllOk(report), suspect.state == State::kOk);
  return suspect;
}

TEST(Verify, ARightKernelIsOk) {
  const VerifyFigures figures = FiguresOf(Right);
  EXPECT_EQ(figures.state, State::kOk) << figures.reason;
  EXPECT_EQ(figures.device, "cpu");
  EXPECT_GT(figures.values, 1000);
  EXPECT_EQ(figures.wrong_values, 0);
  EXPECT_EQ(figures.max_error, 0);
  EXPECT_EQ(figures.bound, 0);
  EXPECT_EQ(figures.nmse, 0);
  ASSERT_TRUE(figures.gb_per_s.has_value());
  EXPECT_GT(*figures.gb_per_s, 0.001);
  EXPECT_LT(*figures.gb_per_s, 10000);
}

TEST(Verify, CrashesAreRows) {
  VerifyFigures figures = FiguresOf(RaiseIll);
  EXPECT_EQ(figures.state, State::kCrash);
  EXPECT_EQ(figures.reason, "its process died of SIGILL");
  figures = FiguresOf(Abort);
  EXPECT_EQ(figures.state, State::kCrash);
  EXPECT_EQ(figures.reason, "its process died of SIGABRT");
  figures = FiguresOf(Exit);
  EXPECT_EQ(figures.state, State::kCrash);
  EXPECT_EQ(figures.reason, "its process ended with exit code 3 before it was done");
}

TEST(Verify, HangsAreRows) {
  const auto start = std::chrono::steady_clock::now();
  const VerifyFigures figures = FiguresOf(LoopForever, 1);
  EXPECT_EQ(figures.state, State::kHang);
  EXPECT_EQ(figures.reason, "no answer within 1 s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Verify, BytesBesideTheBuffersAreSeen) {
  VerifyFigures figures = FiguresOf(WriteBeside);
  EXPECT_EQ(figures.state, State::kWrong);
  EXPECT_NE(figures.reason.find("wrote beside its out"), std::string::npos) << figures.reason;
  figures = FiguresOf(WriteBefore);
  EXPECT_EQ(figures.state, State::kWrong);
  EXPECT_NE(figures.reason.find("wrote beside its out"), std::string::npos) << figures.reason;
  figures = FiguresOf(WriteOnInput);
  EXPECT_EQ(figures.state, State::kWrong);
  EXPECT_NE(figures.reason.find("wrote on its input b"), std::string::npos) << figures.reason;
}

TEST(Verify, SmallErrorsAreSeen) {
  VerifyFigures figures = FiguresOf(WrongLast);
  EXPECT_EQ(figures.state, State::kWrong);
  EXPECT_NE(figures.reason.find("1 of 21 values differ from the reference"), std::string::npos)
      << figures.reason;
  EXPECT_GT(figures.max_error, 1e-7);
  EXPECT_LT(figures.max_error, 1e-5);
  EXPECT_GT(figures.nmse, 0);
  EXPECT_FALSE(figures.gb_per_s.has_value()) << "a wrong kernel has no speed";
  figures = FiguresOf(LastBitOff);
  EXPECT_EQ(figures.state, State::kWrong);
  EXPECT_GT(figures.wrong_values, 10);
  EXPECT_LT(figures.nmse, 1e-12);
  figures = FiguresOf(LeavesAHole);
  EXPECT_EQ(figures.state, State::kWrong);
  EXPECT_EQ(figures.max_error, HUGE_VAL) << "what is never written is a NaN";
  EXPECT_EQ(FiguresOf(WrongInParts).state, State::kWrong);
}

TEST(Verify, TakingWhatMustBeRefusedIsWrong) {
  Registry registry = BuiltinKernels();
  registry.Add(Kernel<MulArgs>{.name = "cpu.suspect",
                               .device = DeviceKind::kCpu,
                               .tier = Tier::kNative,
                               .priority = 99,
                               .supports = TakesTooMuch,
                               .run = RightMul});
  Machine machine;
  machine.devices = {Cpu()};
  CapsReport report = MakeCapsReport(registry, machine, {{"mul"}, {}, {}});
  ASSERT_TRUE(Verify(registry, {}, report).ok());
  ASSERT_EQ(report.rows[0].kernel, "cpu.suspect");
  ASSERT_EQ(report.rows[0].verify.size(), 1u);
  EXPECT_EQ(report.rows[0].verify[0].state, State::kWrong);
  EXPECT_EQ(report.rows[0].verify[0].reason, "f32 2x8 by 2: taken, and no kernel may take it");
}

TEST(Verify, ADeviceWithoutMemoryIsAnError) {
  DeviceInfo sim;
  sim.id = "sim:0";
  sim.kind = DeviceKind::kSim;
  sim.memory_total = {4096, "test"};
  sim.sim.emplace();
  Machine machine;
  machine.devices = {sim};
  CapsReport report = MakeCapsReport(BuiltinKernels(), machine, {{"add"}, {}, {"sim:0"}});
  ASSERT_TRUE(Verify(BuiltinKernels(), {}, report).ok());
  EXPECT_FALSE(AllOk(report));
  int seen = 0;
  for (const CapsRow& row : report.rows) {
    for (const VerifyFigures& figures : row.verify) {
      ++seen;
      EXPECT_EQ(figures.state, State::kError);
      EXPECT_NE(figures.reason.find("4096 bytes"), std::string::npos) << figures.reason;
    }
  }
  EXPECT_GT(seen, 0);
}

TEST(Verify, AnInterruptionEndsTheSweepAndItsChild) {
  Registry registry = BuiltinKernels();
  registry.Add(Kernel<AddArgs>{.name = "cpu.suspect",
                               .device = DeviceKind::kCpu,
                               .tier = Tier::kNative,
                               .priority = 99,
                               .supports = Yes,
                               .run = LoopForever});
  Machine machine;
  machine.devices = {Cpu()};
  CapsReport report = MakeCapsReport(registry, machine, {{"add"}, {}, {}});
  std::atomic<bool> interrupted = true;
  VerifyOptions options;
  options.interrupted = &interrupted;
  std::vector<std::string> begun;
  options.progress = [&](std::size_t, std::size_t, const std::string& next) {
    begun.push_back(next);
  };
  const Status status = Verify(registry, options, report);
  EXPECT_EQ(status.code(), Code::kInterrupted) << status.message();
  EXPECT_EQ(begun, std::vector<std::string>{"add cpu.suspect"});
}

}  // namespace
}  // namespace vt::test
