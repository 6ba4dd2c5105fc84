// Which machine a tool answers for: this one, or one that a document describes.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "caps/caps_report.h"
#include "device/profile.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt::cli {

// At most one of `caps_file`, `profile` and `sim_files` is given; none: this machine, probed.
struct MachineSource {
  std::string caps_file = {};  // vt.caps/1; "-": stdin
  std::string profile = {};    // a vt.profile/1 document, or the name of one; "-": stdin
  std::vector<std::string> sim_files =
      {};                 // vt.profile/1 of sim:0, sim:1, .., added to this machine
  std::string isa = {};   // holds the cpu to an instruction set; empty: all it has
  bool in_child = false;  // probe in a process of its own, which may crash
};

// A machine, and what of its description is for show only.
struct LoadedMachine {
  Machine machine;
  std::vector<UndrivenDevice> undriven;
};

// kNotFound: a document that is not there; kInvalid: one that is wrong (its file and JSON pointer),
// or that lists only some kernels; LimitIsa's errors.
Result<LoadedMachine> LoadMachine(const MachineSource& source,
                                  const std::atomic<bool>& interrupted);

// A vt.caps/1 document. Errors name the file.
Result<CapsReport> ReadCapsFile(const std::string& path, const std::atomic<bool>& interrupted);

// The document that `profile` names: itself where it is a path ("-", "x.json", "./x" or a file that
// is there), else "NAME.json" of the profiles that came with this program. kNotFound: the nearest
// name.
Result<std::string> ProfilePath(const std::string& profile);

// The names of the profiles that came with this program, sorted; empty where none did.
std::vector<std::string> ProfileNames();

}  // namespace vt::cli
