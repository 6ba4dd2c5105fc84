// The trial in a child process: whatever it does, this process learns of it and goes on.
#include "device/amx_probe.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "vt/device.h"

namespace vt {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool Succeed() { return true; }
bool ComeOutWrong() { return false; }
bool RaiseIll() { return raise(SIGILL) == 0; }
bool Trap() {
  __builtin_trap();  // an instruction that no processor has
}
bool Segfault() { return raise(SIGSEGV) == 0; }
bool Hang() {
  for (;;) pause();
}
bool LeaveEarly() { _exit(7); }

TEST(TrialTest, OutcomeOfWhateverItDoes) {
  EXPECT_TRUE(RunTrial(Succeed).passed);
  EXPECT_EQ(RunTrial(Succeed).reason, "");
  EXPECT_FALSE(RunTrial(ComeOutWrong).passed);
  EXPECT_EQ(RunTrial(ComeOutWrong).reason, "the trial tile product came out wrong");
  EXPECT_FALSE(RunTrial(LeaveEarly).passed);
  EXPECT_FALSE(RunTrial(RaiseIll).passed);
  EXPECT_EQ(RunTrial(RaiseIll).reason,
            "the trial tile product ended with signal 4 (Illegal instruction)");
  EXPECT_FALSE(RunTrial(Trap).passed);
  EXPECT_EQ(RunTrial(Segfault).reason,
            "the trial tile product ended with signal 11 (Segmentation fault)");
}

TEST(TrialTest, AHangIsCutShort) {
  const auto start = steady_clock::now();
  const TrialOutcome outcome = RunTrial(Hang, milliseconds(50));
  const auto taken = steady_clock::now() - start;
  EXPECT_FALSE(outcome.passed);
  EXPECT_EQ(outcome.reason, "the trial tile product did not end within 50 ms and was killed");
  EXPECT_GE(taken, milliseconds(50));
  EXPECT_LT(taken, milliseconds(10000));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // nothing is left of it
}

void IgnoreFault(int) { _exit(0); }

// A handler of this process must not turn the child's fault into a success, nor a blocked signal
// into a hang.
TEST(TrialTest, HandlersAndMasksOfThisProcessDoNotReachTheChild) {
  const auto old = signal(SIGILL, IgnoreFault);
  EXPECT_FALSE(RunTrial(RaiseIll).passed);
  signal(SIGILL, SIG_IGN);
  EXPECT_FALSE(RunTrial(RaiseIll).passed);
  signal(SIGILL, old);
  sigset_t block, before;
  sigemptyset(&block);
  sigaddset(&block, SIGILL);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &block, &before), 0);
  EXPECT_FALSE(RunTrial(RaiseIll).passed);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Where nobody may wait for children, the outcome cannot be learnt: that is a no, not a hang.
TEST(TrialTest, UnwatchableChildIsANo) {
  const auto old = signal(SIGCHLD, SIG_IGN);
  const TrialOutcome outcome = RunTrial(Succeed);
  signal(SIGCHLD, old);
  EXPECT_FALSE(outcome.passed);
  EXPECT_EQ(outcome.reason,
            "the trial tile product could not be watched: waitpid failed (No child processes)");
}

TEST(TrialTest, FromAProcessWithThreads) {
  std::vector<std::thread> threads;
  std::atomic<bool> stop = false;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) std::string(1000, 'x').clear();  // holds the allocator's lock now and then
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(RunTrial(Succeed).passed);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// On this machine, whatever it is: the true product is run only behind permission, in a child, and
// the three answers agree.
TEST(TrialTest, TheTrueProductAgreesWithTheDevice) {
  const auto words = ReadCpuid();
  const bool worth_trying = words && TilesWorthTrying(*words);
  const bool permitted = RequestTilePermission().ok();
  const TrialOutcome outcome = RunTrial(TrialTileProduct);
  EXPECT_EQ((ProbeCpu().features & kFeatureAmxInt8) != 0,
            worth_trying && permitted && outcome.passed);
  if (!permitted) {
    EXPECT_EQ(RequestTilePermission().code(), Code::kUnsupported);
  }
  EXPECT_EQ(TryTiles().granted, permitted && outcome.passed);
  if (!TryTiles().granted) {
    EXPECT_NE(TryTiles().reason, "");
  }
}

}  // namespace
}  // namespace vt
