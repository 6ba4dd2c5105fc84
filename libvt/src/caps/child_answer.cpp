#include "caps/child_answer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace vt {
namespace {

Status Failed(const char* call) {
  return {Code::kDevice, std::string(call).append(": ").append(std::strerror(errno))};
}

}  // namespace

Result<ChildAnswer> ChildAnswer::Start(const std::function<std::string()>& answer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed("pipe");
  const pid_t child = fork();
  if (child < 0) {
    const Status status = Failed("fork");
    close(ends[0]);
    close(ends[1]);
    return status;
  }
  if (child > 0) {
    close(ends[1]);
    return ChildAnswer(child, ends[0]);
  }
  close(ends[0]);
  const std::string bytes = answer();
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = write(ends[1], bytes.data() + at, bytes.size() - at);
    if (wrote <= 0 && errno != EINTR) _exit(1);
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
  _exit(0);
}

ChildAnswer::ChildAnswer(ChildAnswer&& other) noexcept
    : child_(std::exchange(other.child_, 0)), pipe_(std::exchange(other.pipe_, -1)) {}

ChildAnswer::~ChildAnswer() {
  if (child_ > 0) {
    Kill();
    Wait();
  }
  if (pipe_ >= 0) close(pipe_);
}

bool ChildAnswer::Read(std::string& bytes, int wait_ms) {
  pollfd ready = {.fd = pipe_, .events = POLLIN, .revents = 0};
  const int polled = poll(&ready, 1, wait_ms);
  if (polled <= 0) return polled == 0 || errno == EINTR;
  char block[4096];
  const ssize_t got = read(pipe_, block, sizeof block);
  if (got > 0) bytes.append(block, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

void ChildAnswer::Kill() {
  if (child_ > 0) kill(child_, SIGKILL);
}

int ChildAnswer::Wait() {
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
  child_ = 0;
  return status;
}

}  // namespace vt
