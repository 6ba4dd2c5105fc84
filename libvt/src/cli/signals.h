// Interruption: the first SIGINT or SIGTERM asks the program to stop, the second one kills it.
#pragma once

#include <atomic>

namespace vt::cli {

// Installs the handlers (once; SIGPIPE is ignored from then on, so that a closed pipe is a write
// error) and makes sure that descriptors 0, 1 and 2 are open, so that no file is opened as one of
// them: a stdin that was closed is at its end, a stdout that was closed fails to be written.
// The flag is set by the first signal and lives for ever.
const std::atomic<bool>& InstallSignals();

}  // namespace vt::cli
