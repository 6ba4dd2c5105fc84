// Whether this process may compute with AMX tiles: asked of the operating system, then tried once.
//
// CPUID and XCR0 are not enough. Linux keeps tile data from a process until it asks for it, and a
// virtual machine may show the bits and fault on the instruction. So one product is computed in a
// child process, where a fault or a hang is an answer and not the end of this process.
// Source: Linux Documentation/arch/x86/xstate.rst.
#pragma once

#include <chrono>

#include "device/cpu_features.h"
#include "vt/status.h"

namespace vt {

// Asks for the right to use tile data. Every thread that is going to execute tile instructions
// calls this first, whichever thread asked before: to ask again costs one system call, and a thread
// whose alternate signal stack is too small for tile state learns it here. kUnsupported: the system
// refuses, or this is not an x86 with AMX.
Status RequestTilePermission();

// Computes a 16 x 16 product of bytes with tiles and compares it with the one computed without.
// Faults where tiles may not be used. Calls nothing but code of its own, so that it may run in a
// child forked from a process with threads. False where it was not built for x86-64.
bool TrialTileProduct();

struct TrialOutcome {
  bool passed = false;
  std::string reason;  // "the trial tile product ended with signal 4 (Illegal instruction)"
};

// Runs `trial` in a forked child and waits for at most `limit`. The trial may call only what is
// safe in a signal handler.
TrialOutcome RunTrial(bool (*trial)(),
                      std::chrono::milliseconds limit = std::chrono::milliseconds(5000));

// Permission and trial, once per process; the later calls return the first one's answer.
const TileAccess& TryTiles();

}  // namespace vt
