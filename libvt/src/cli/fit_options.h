// What vt-fit was asked for: its options, the table of its flags, and the rules between flags.
//
// Nothing here touches a file or a device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "cli/run_settings.h"
#include "engine/speculate.h"
#include "vt/status.h"

namespace vt::cli {

enum FitMode : unsigned {
  kFitModel = 1u << 0,     // a model on one device
  kFitPlan = 1u << 1,      // a vt.plan/1 document
  kFitProfiles = 1u << 2,  // a model on every device of every profile
  kFitHelp = 1u << 3,
  kFitVersion = 1u << 4,
};

struct FitOptions {
  FitMode mode = kFitModel;

  std::string model;  // a file, a folder, a vt.model/1 document ("-": on stdin)
  std::string plan;   // vt.plan/1; "-": on stdin

  std::string draft;         // a model as `model`
  std::string draft_device;  // empty: where the model's output is
  std::int64_t draft_max = kModelGuesses;
  std::string projector;
  std::string projector_device;

  std::string caps_file;
  std::string profile;  // a name, a file, or "all"
  std::vector<std::string> sim_files;
  std::string device = "cpu";

  RunSettings settings;
  BudgetOptions budgets;
  std::string calibration;  // vt.calibration/1

  bool max_context = false;
  bool curve = false;
  std::string plot;  // an SVG file

  bool json = false;   // as given; JsonWanted decides
  bool table = false;  // as given
  bool quiet = false;

  GivenFlags given;
};

// The table of all flags, bound to `options`, which must outlive it.
std::vector<Flag> FitFlags(FitOptions* options);

// Applies the arguments to `options` (a first argument "-" is a plan on stdin) and checks the rules
// between flags. kInvalid names them.
Status ParseFitFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                     FitOptions* options);

// Whether the answer is a document (JSON) rather than a table for people.
bool JsonWanted(const FitOptions& options);

std::string FitHelp(std::span<const Flag> table);

}  // namespace vt::cli
