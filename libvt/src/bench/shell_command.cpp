#include "bench/shell_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/json_writer.h"

namespace vt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kErrEnd = 2000;
constexpr int kPollMs = 100;
constexpr auto kGrace = std::chrono::seconds(3);

// Only what may follow fork in a process with threads.
[[noreturn]] void BecomeShell(const char* command, int out, int err) {
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  const int none = open("/dev/null", O_RDONLY);
  if (none < 0 || dup2(none, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
  execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  _exit(127);
}

// Appends what can be read; false at the end.
bool Drain(int descriptor, std::string& text) {
  char block[16384];
  const ssize_t got = read(descriptor, block, sizeof block);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  text.append(block, static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace

Result<CommandOutput> RunShellCommand(const std::string& command,
                                      const std::atomic<bool>& interrupted) {
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) {
    return Status(Code::kDevice, std::string("pipe: ") + std::strerror(errno));
  }
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    return Status(Code::kDevice, std::string("pipe: ") + std::strerror(errno));
  }
  const Clock::time_point start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) BecomeShell(command.c_str(), out[1], err[1]);
  close(out[1]);
  close(err[1]);
  if (pid < 0) {
    close(out[0]);
    close(err[0]);
    return Status(Code::kDevice, std::string("fork: ") + std::strerror(errno));
  }
  CommandOutput output;
  std::string errors;
  bool out_open = true, err_open = true, stopped = false, too_much = false;
  Clock::time_point stopped_at;
  while (out_open || err_open) {
    pollfd ready[] = {{out_open ? out[0] : -1, POLLIN, 0}, {err_open ? err[0] : -1, POLLIN, 0}};
    poll(ready, 2, kPollMs);
    if (ready[0].revents != 0) out_open = Drain(out[0], output.out);
    if (ready[1].revents != 0) err_open = Drain(err[0], errors);
    if (errors.size() > 2 * kErrEnd) errors.erase(0, errors.size() - kErrEnd);
    too_much = too_much || output.out.size() > kMostBytes;
    if (!stopped && (interrupted || too_much)) {
      stopped = true;
      stopped_at = Clock::now();
      kill(-pid, SIGTERM);
    } else if (stopped && Clock::now() - stopped_at > kGrace) {
      kill(-pid, SIGKILL);
      break;
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.wall_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
  output.err_end = errors.size() > kErrEnd ? errors.substr(errors.size() - kErrEnd) : errors;
  if (interrupted) return Status(Code::kInterrupted, "interrupted while a command ran");
  const auto failed = [&](const std::string& how) -> Status {
    std::string message = "command \"" + ValidUtf8(command) + "\": " + how;
    if (!output.err_end.empty()) message += "; it said: " + ValidUtf8(output.err_end);
    while (message.ends_with('\n')) message.pop_back();
    return InvalidError(message);
  };
  if (too_much) return failed("printed more than 64 MiB");
  if (WIFSIGNALED(status)) {
    return failed("was ended by signal " + std::to_string(WTERMSIG(status)));
  }
  const int code = WEXITSTATUS(status);
  if (code == 127) return failed("was not found (exit code 127)");
  if (code != 0 && (code != 1 || output.out.empty())) {
    return failed("failed with exit code " + std::to_string(code));
  }
  if (output.out.empty()) return failed("printed nothing");
  return output;
}

}  // namespace vt
