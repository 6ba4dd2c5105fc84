// What vt-place was asked for: its options, the table of its flags, and the rules between flags.
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
#include "place/place.h"
#include "vt/status.h"

namespace vt::cli {

enum PlaceMode : unsigned {
  kPlaceModel = 1u << 0,    // makes a plan
  kPlaceExplain = 1u << 1,  // why a tensor of a plan lies where it does
  kPlaceDiff = 1u << 2,     // two plans
  kPlaceShow = 1u << 3,     // a plan as a memory map
  kPlaceHelp = 1u << 4,
  kPlaceVersion = 1u << 5,
};

struct PlaceOptions {
  PlaceMode mode = kPlaceModel;

  std::string model;  // a file, a folder, a vt.model/1 document ("-": on stdin)
  std::string caps_file;
  std::string profile;  // a name or a file
  std::vector<std::string> sim_files;
  std::vector<std::string> devices;  // that may be used; empty: all

  RunSettings settings;
  bool exact = false;

  BudgetOptions budgets;
  std::vector<Pin> pins;
  bool cpu_moe = false;
  std::int64_t n_cpu_moe = 0;
  std::int64_t expert_slots = 0;  // 0: all experts are held
  Objective objective = Objective::kDecode;
  std::string out;  // a file for the plan, of which a table is then printed; empty or "-": stdout

  std::string plan, plan_b;  // of the other modes; "-": on stdin
  std::string tensor;
  std::string svg;

  bool json = false;   // as given; JsonWanted decides
  bool table = false;  // as given
  bool quiet = false;

  GivenFlags given;
};

// The table of all flags, bound to `options`, which must outlive it.
std::vector<Flag> PlaceFlags(PlaceOptions* options);

// Applies the arguments to `options` (a first argument "explain", "diff" or "show" takes plans) and
// checks the rules between flags. kInvalid names them.
Status ParsePlaceFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                       PlaceOptions* options);

// Whether the answer is a document (JSON) rather than a table for people.
bool JsonWanted(const PlaceOptions& options);

std::string PlaceHelp(std::span<const Flag> table);

}  // namespace vt::cli
