// Tables for people: what ran where, and what memory it took.
#pragma once

#include <span>
#include <string>

#include "cli/run_options.h"
#include "cli/run_records.h"
#include "vt/engine.h"

namespace vt::cli {

// Every op that ran with its kernels and launches, and of each other kernel of that op why it was
// not the one.
std::string KernelReport(const Engine& engine, const RunOptions& options);

// One line on what ran as plain code for want of a better kernel; empty when nothing did.
std::string ReferenceNote(const Engine& engine);

// The rows of the memory plan, predicted against allocated, and what the process holds.
std::string MemoryReport(std::span<const MemoryRow> rows, const ResidentMemory& resident);

}  // namespace vt::cli
