#include "caps/verify.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "caps/verify_row.h"

namespace vt {
namespace {

constexpr int kPollMs = 50;

using Clock = std::chrono::steady_clock;

// What a child sends: this, then the reason and the worst case.
struct Answer {
  VerifyFigures::State state;
  std::int64_t cases, values, wrong_values;
  double max_error, bound, nmse, gb_per_s;  // gb_per_s negative: none
  std::uint32_t reason_bytes, worst_case_bytes;
};

std::string Encode(const VerifyFigures& f) {
  Answer answer = {};  // padding too
  answer.state = f.state;
  answer.cases = f.cases;
  answer.values = f.values;
  answer.wrong_values = f.wrong_values;
  answer.max_error = f.max_error;
  answer.bound = f.bound;
  answer.nmse = f.nmse;
  answer.gb_per_s = f.gb_per_s.value_or(-1);
  answer.reason_bytes = static_cast<std::uint32_t>(f.reason.size());
  answer.worst_case_bytes = static_cast<std::uint32_t>(f.worst_case.size());
  return std::string(reinterpret_cast<const char*>(&answer), sizeof answer) + f.reason +
         f.worst_case;
}

bool Decode(const std::string& bytes, VerifyFigures& f) {
  Answer answer;
  if (bytes.size() < sizeof answer) return false;
  std::memcpy(&answer, bytes.data(), sizeof answer);
  if (bytes.size() != sizeof answer + answer.reason_bytes + answer.worst_case_bytes) return false;
  f.state = answer.state;
  f.cases = answer.cases;
  f.values = answer.values;
  f.wrong_values = answer.wrong_values;
  f.max_error = answer.max_error;
  f.bound = answer.bound;
  f.nmse = answer.nmse;
  if (answer.gb_per_s >= 0) f.gb_per_s = answer.gb_per_s;
  f.reason = bytes.substr(sizeof answer, answer.reason_bytes);
  f.worst_case = bytes.substr(sizeof answer + answer.reason_bytes);
  return true;
}

[[noreturn]] void RunChild(const Registry& registry, const CapsRow& row, const DeviceInfo& device,
                           int out) {
  // It dies of what it does wrong, and with its parent, silently. An interruption is the parent's.
  for (const int number : {SIGTERM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    signal(number, SIG_DFL);
  }
  signal(SIGINT, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (const int null = open("/dev/null", O_RDWR); null >= 0) {
    for (const int stream : {0, 1, 2}) dup2(null, stream);
  }
  const std::string answer = Encode(VerifyRow(registry, row.op, row.kernel, device));
  for (std::size_t at = 0; at < answer.size();) {
    const ssize_t wrote = write(out, answer.data() + at, answer.size() - at);
    if (wrote <= 0 && errno != EINTR) _exit(1);
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
  _exit(0);
}

std::string SignalName(int number) {
  const char* name = sigabbrev_np(number);
  return name ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

// Reads until the other end closes; false when `deadline` or an interruption came first.
bool ReadAnswer(int in, Clock::time_point deadline, const VerifyOptions& options,
                std::string& bytes) {
  char block[4096];
  while (Clock::now() < deadline && !(options.interrupted && *options.interrupted)) {
    pollfd ready = {.fd = in, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    const ssize_t got = read(in, block, sizeof block);
    if (got == 0) return true;
    if (got > 0) bytes.append(block, static_cast<std::size_t>(got));
  }
  return false;
}

Result<VerifyFigures> RunInChild(const Registry& registry, const CapsRow& row,
                                 const DeviceInfo& device, const VerifyOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Status(Code::kDevice, std::string("pipe: ") + std::strerror(errno));
  }
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return Status(Code::kDevice, std::string("fork: ") + std::strerror(error));
  }
  if (child == 0) {
    close(ends[0]);
    RunChild(registry, row, device, ends[1]);
  }
  close(ends[1]);
  VerifyFigures figures;
  figures.device = device.id;
  std::string bytes;
  const auto deadline = Clock::now() + std::chrono::seconds(options.timeout_s);
  const bool ended = ReadAnswer(ends[0], deadline, options, bytes);
  close(ends[0]);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (options.interrupted && *options.interrupted) {
    return Status(Code::kInterrupted, "interrupted while verifying " + row.op + " " + row.kernel);
  }
  if (!ended) {
    figures.state = VerifyFigures::State::kHang;
    figures.reason = "no answer within " + std::to_string(options.timeout_s) + " s";
  } else if (WIFSIGNALED(status)) {
    figures.state = VerifyFigures::State::kCrash;
    figures.reason = "its process died of " + SignalName(WTERMSIG(status));
  } else if (!Decode(bytes, figures)) {
    figures.state = VerifyFigures::State::kCrash;
    figures.reason = "its process ended with exit code " + std::to_string(WEXITSTATUS(status)) +
                     " before it was done";
  }
  return figures;
}

const DeviceInfo* DeviceOf(const Machine& machine, const std::string& id) {
  for (const DeviceInfo& device : machine.devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

}  // namespace

Status Verify(const Registry& registry, const VerifyOptions& options, CapsReport& report) {
  std::size_t total = 0, done = 0;
  for (const CapsRow& row : report.rows) total += row.devices.size();
  for (CapsRow& row : report.rows) {
    for (const std::string& id : row.devices) {
      if (options.progress) options.progress(done++, total, row.op + " " + row.kernel);
      const DeviceInfo* device = DeviceOf(report.machine, id);
      if (!device) continue;
      VT_ASSIGN_OR_RETURN(VerifyFigures figures, RunInChild(registry, row, *device, options));
      row.verify.push_back(std::move(figures));
    }
  }
  return {};
}

bool AllOk(const CapsReport& report) {
  return std::all_of(report.rows.begin(), report.rows.end(), [](const CapsRow& row) {
    return std::all_of(row.verify.begin(), row.verify.end(), [](const VerifyFigures& figures) {
      return figures.state == VerifyFigures::State::kOk;
    });
  });
}

}  // namespace vt
