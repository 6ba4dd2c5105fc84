#include "caps/probe_child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "caps/caps_document.h"

namespace vt {
namespace {

[[noreturn]] void SendMachine(const MachineOptions& options, int out) {
  CapsReport report;
  report.machine = ProbeMachine(options);
  JsonWriter json;
  json.BeginObject().Field("schema", kCapsSchema);
  WriteCapsBody(report, json);
  const std::string text = json.EndObject().Take();
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t wrote = write(out, text.data() + at, text.size() - at);
    if (wrote <= 0 && errno != EINTR) _exit(1);
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
  _exit(0);
}

}  // namespace

Result<Machine> ProbeMachineInChild(const MachineOptions& options) {
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
  if (child == 0) SendMachine(options, ends[1]);
  close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t got; (got = read(ends[0], block, sizeof block)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(block, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  Result<CapsReport> report = ParseCapsDocument(text);
  if (!report.ok()) {
    return Status(Code::kDevice, "the process that probes the devices ended without an answer");
  }
  Machine machine = std::move(report->machine);
  for (DeviceInfo& device : machine.devices) {
    device.described = false;
    device.usable_kernels.reset();
    if (device.kind != DeviceKind::kSim) continue;
    for (std::size_t i = 0; i < options.sims.size(); ++i) {
      if (device.id == "sim:" + std::to_string(i)) device.sim = options.sims[i].sim;
    }
  }
  return machine;
}

}  // namespace vt
