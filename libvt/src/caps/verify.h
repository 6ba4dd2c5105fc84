// Every usable kernel run over the cases of its op and compared with the scalar reference, each row
// in a process of its own: one that dies or hangs is a row with that state, and the sweep goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "caps/caps_report.h"

namespace vt {

struct VerifyOptions {
  std::int64_t timeout_s = 60;  // of one row on one device
  const std::atomic<bool>* interrupted = nullptr;
  // Called before each row: how many are done, of how many, and the next one.
  std::function<void(std::size_t done, std::size_t total, const std::string& next)> progress;
};

// Fills CapsRow::verify of every usable row. Forks, so the process must have one thread and must
// not have opened a GPU driver; devices are opened in the children. kInterrupted: the child is
// gone, and rows that were not run have no figures.
//
// A result is held against the reference kernel of the op on the cpu (for an op without one: its
// composed form over reference kernels), run over the same inputs. Host kernels must give the same
// bits. Kernels of a GPU or its emulator may be off by (16 + n) * 2^-23 of the largest value, n the
// length of the op's sums; whole numbers and cells of the KV cache must still be the same.
Status Verify(const Registry& registry, const VerifyOptions& options, CapsReport& report);

// Whether all that was run was right.
bool AllOk(const CapsReport& report);

}  // namespace vt
