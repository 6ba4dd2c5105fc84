// What vt-caps was asked for: its options, the table of its flags, and the rules between flags.
//
// Nothing here touches a file or a device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "vt/status.h"

namespace vt::cli {

// What the program does, one bit each so that a flag can name all it has an effect in.
enum CapsMode : unsigned {
  kCapsReport = 1u << 0,    // devices and kernels
  kCapsModel = 1u << 1,     // what one model needs
  kCapsVerify = 1u << 2,    // kernels run against the reference
  kCapsMarkdown = 1u << 3,  // the text of docs/ops.md
  kCapsDiff = 1u << 4,      // two documents
  kCapsHelp = 1u << 5,
  kCapsVersion = 1u << 6,
};

struct CapsOptions {
  CapsMode mode = kCapsReport;

  // Which machine: this one unless a document describes another. "-" is stdin. The program loads
  // it; what it hands on is a Machine that is already held to `isa`.
  std::string caps_file;               // vt.caps/1
  std::string profile_file;            // vt.profile/1
  std::vector<std::string> sim_files;  // vt.profile/1 of sim:0, .., added to this machine
  std::string isa;                     // holds the cpu to an instruction set; empty: all it has

  // Filters; empty: all. Names are checked by the program before any of them is used: ops against
  // the op table, types against the type table, devices against the machine. A device is an id
  // ("cuda:0") or a kind ("cuda").
  std::vector<std::string> ops;
  std::vector<std::string> dtypes;
  std::vector<std::string> devices;

  std::string model;    // GGUF, or a vt.model/1 document ("-": on stdin)
  std::string require;  // lowest tier that will do: "native", "composed"; empty: reference
  std::string kv_type = "f16";
  std::int64_t context = 0;  // 0: chosen from the model, as vt-run does
  bool exact = false;

  std::int64_t timeout_s = 60;  // of --verify, a row

  std::string diff_a, diff_b;

  bool json = false;   // as given; JsonWanted decides
  bool table = false;  // as given
  bool quiet = false;

  GivenFlags given;
};

// The table of all flags, bound to `options`, which must outlive it.
std::vector<Flag> CapsFlags(CapsOptions* options);

// Applies the arguments to `options` (a first argument "diff" takes two documents) and checks the
// rules between flags: contradictions, and flags that would have no effect. kInvalid names them.
Status ParseCapsFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                      CapsOptions* options);

// Whether the answer is a document (JSON) rather than a table for people: as the flags say, else
// whether stdout is no terminal.
bool JsonWanted(const CapsOptions& options);

// Whether a device of this id passes the filter --device.
bool DeviceWanted(const CapsOptions& options, std::string_view id);

std::string CapsHelp(std::span<const Flag> table);

}  // namespace vt::cli
