#include "cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace vt::cli {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the handler may only touch such a flag");

extern "C" void OnSignal(int signal_number) {
  if (g_interrupted.exchange(true)) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  }
}

void OccupyIfClosed(int descriptor, int flags) {
  if (fcntl(descriptor, F_GETFD) == -1) {
    // The lowest free descriptor is this one, as those below are open.
    [[maybe_unused]] const int opened = open("/dev/null", flags);
  }
}

}  // namespace

const std::atomic<bool>& InstallSignals() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  // Without SA_RESTART a read or write that waits comes back at once.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  OccupyIfClosed(0, O_RDONLY);
  OccupyIfClosed(1, O_RDONLY);
  OccupyIfClosed(2, O_WRONLY);
  return g_interrupted;
}

}  // namespace vt::cli
