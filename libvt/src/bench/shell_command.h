// A shell command and what it printed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "vt/status.h"

namespace vt {

struct CommandOutput {
  std::string out;
  std::string err_end;  // the last 2000 bytes of its standard error
  std::uint64_t wall_ns = 0;
};

// Runs `command` with /bin/sh in a process group of its own, stdin empty. kInvalid: it ended with
// another exit code than 0 (or 1, when it printed something: a "no" of vt-bench --strict), by a
// signal, or printed over 64 MiB; the message has the end of its standard error. kInterrupted: the
// flag was set; the group has then been ended.
Result<CommandOutput> RunShellCommand(const std::string& command,
                                      const std::atomic<bool>& interrupted);

}  // namespace vt
