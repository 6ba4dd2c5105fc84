#include "caps/verify.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "caps/child_answer.h"
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

// A child dies of what it does wrong, and with its parent, silently. An interruption is the
// parent's.
void BecomeSilent() {
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
}

std::string SignalName(int number) {
  const char* name = sigabbrev_np(number);
  return name ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

Result<VerifyFigures> RunInChild(const Registry& registry, const CapsRow& row,
                                 const DeviceInfo& device, const VerifyOptions& options) {
  VT_ASSIGN_OR_RETURN(ChildAnswer child, ChildAnswer::Start([&] {
                        BecomeSilent();
                        return Encode(VerifyRow(registry, row.op, row.kernel, device));
                      }));
  VerifyFigures figures;
  figures.device = device.id;
  std::string bytes;
  const auto deadline = Clock::now() + std::chrono::seconds(options.timeout_s);
  bool ended = false;
  while (!ended && Clock::now() < deadline && !(options.interrupted && *options.interrupted)) {
    ended = !child.Read(bytes, kPollMs);
  }
  if (!ended) child.Kill();
  const int status = child.Wait();
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
