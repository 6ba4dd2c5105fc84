#include "device/amx_probe.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vt {
namespace {

#if defined(__x86_64__)
constexpr int kArchReqXcompPerm = 0x1023;  // <asm/prctl.h> of Linux 5.16
constexpr int kXfeatureTileData = 18;

constexpr int kRows = 16;
constexpr int kRowBytes = 64;

// Static and volatile: this lies in memory and is written for certain before ldtilecfg reads it,
// an address that the compiler may otherwise take for one that nobody reads.
struct alignas(64) TileConfig {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64);
volatile TileConfig tile_config;

alignas(64) std::int8_t tile_a[kRows][kRowBytes];  // row m holds a[m][0..63]
alignas(64) std::int8_t tile_b[kRows][kRowBytes];  // row k / 4 holds b[k][n] at 4 n + k % 4
alignas(64) std::int32_t tile_c[kRows][kRowBytes / 4];

std::int8_t ValueA(int m, int k) { return static_cast<std::int8_t>((m * 37 + k * 11) % 251 - 125); }
std::int8_t ValueB(int k, int n) { return static_cast<std::int8_t>((k * 53 + n * 29) % 241 - 120); }
#endif

// What the child does with signals: whatever this process or a debugging tool installed would run
// its handlers in a copy of this process.
void RestoreSignals() {
  for (const int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGABRT, SIGTERM}) {
    signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string ErrorText(int error) {
  const char* text = strerrordesc_np(error);
  return text != nullptr ? text : "error " + std::to_string(error);
}

constexpr std::string_view kTrial = "the trial tile product ";

TrialOutcome Refused(std::string what) { return {false, std::string(kTrial) + std::move(what)}; }

// The child's wait status; nothing when it did not end in time and was killed.
std::optional<int> WaitFor(pid_t child, std::chrono::milliseconds limit, int& error) {
  const auto end = std::chrono::steady_clock::now() + limit;
  error = 0;
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child) return status;
    if (got < 0 && errno != EINTR) {
      error = errno;
      return std::nullopt;
    }
    if (std::chrono::steady_clock::now() >= end) break;
    const timespec pause = {0, 200'000};
    nanosleep(&pause, nullptr);
  }
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

}  // namespace

#if defined(__x86_64__)
Status RequestTilePermission() {
  if (syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureTileData) == 0) return {};
  return UnsupportedError("AMX tiles: arch_prctl(ARCH_REQ_XCOMP_PERM, 18) is refused (" +
                          ErrorText(errno) +
                          "); needs a processor with AMX and Linux 5.16 or newer");
}

bool TrialTileProduct() {
  tile_config.palette = 1;
  for (int tile = 0; tile < 3; ++tile) {
    tile_config.row_bytes[tile] = kRowBytes;
    tile_config.rows[tile] = kRows;
  }
  for (int i = 0; i < kRows; ++i) {
    for (int k = 0; k < kRowBytes; ++k) {
      tile_a[i][k] = ValueA(i, k);
      tile_b[k / 4][4 * i + k % 4] = ValueB(k, i);
    }
  }
  // The memory clobber makes every store above happen before, and every read below after.
  const std::int64_t stride = kRowBytes;
  asm volatile(
      "ldtilecfg (%0)\n\t"
      "tileloadd (%1,%4,1), %%tmm1\n\t"
      "tileloadd (%2,%4,1), %%tmm2\n\t"
      "tilezero %%tmm0\n\t"
      "tdpbssd %%tmm2, %%tmm1, %%tmm0\n\t"
      "tilestored %%tmm0, (%3,%4,1)\n\t"
      "tilerelease"
      :
      : "r"(&tile_config), "r"(tile_a), "r"(tile_b), "r"(tile_c), "r"(stride)
      : "memory");
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kRows; ++n) {
      std::int32_t sum = 0;
      for (int k = 0; k < kRowBytes; ++k) sum += ValueA(m, k) * ValueB(k, n);
      if (tile_c[m][n] != sum) return false;
    }
  }
  return true;
}
#else
Status RequestTilePermission() { return UnsupportedError("AMX tiles: not an x86 processor"); }
bool TrialTileProduct() { return false; }
#endif

TrialOutcome RunTrial(bool (*trial)(), std::chrono::milliseconds limit) {
  const pid_t child = fork();
  if (child < 0) return Refused("could not be run: fork failed (" + ErrorText(errno) + ")");
  if (child == 0) {
    RestoreSignals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a child that hangs must not outlive this process
    prctl(PR_SET_DUMPABLE, 0);         // a fault here is an answer, not worth a core file
    _exit(trial() ? 0 : 1);
  }
  int error = 0;
  const std::optional<int> status = WaitFor(child, limit, error);
  if (error != 0) return Refused("could not be watched: waitpid failed (" + ErrorText(error) + ")");
  if (!status) {
    return Refused("did not end within " + std::to_string(limit.count()) + " ms and was killed");
  }
  if (WIFSIGNALED(*status)) {
    const int number = WTERMSIG(*status);
    const char* text = sigdescr_np(number);
    return Refused("ended with signal " + std::to_string(number) + " (" +
                   (text != nullptr ? text : "unknown") + ")");
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {true, {}};
  return Refused("came out wrong");
}

const TileAccess& TryTiles() {
  static const TileAccess access = []() -> TileAccess {
    if (const Status asked = RequestTilePermission(); !asked.ok()) return {false, asked.message()};
    TrialOutcome outcome = RunTrial(TrialTileProduct);
    return {outcome.passed, std::move(outcome.reason)};
  }();
  return access;
}

}  // namespace vt
