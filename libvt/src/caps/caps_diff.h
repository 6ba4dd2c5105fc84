// What one machine can run that another cannot, from two vt.caps/1 documents.
//
// Machines differ in what they can run: in their devices (by id), in the features of these, in the
// kernel rows usable on each, and in the best tier that each op has for each type. How much memory
// there is, and how fast it is, is another question: those differences are listed, and do not
// count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "caps/caps_report.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::string_view kCapsDiffSchema = "vt.caps-diff/1";

struct CapsDiff {
  struct Device {
    std::string id;
    bool in_a = false, in_b = false;
    std::vector<std::string> features_only_a = {}, features_only_b = {};  // of one in both
  };
  struct Kernel {
    std::string op, kernel, device;
    bool only_a = false;  // else only b
  };
  struct Type {
    std::string op, type, device;
    std::optional<Tier> a, b;  // none: not at all
  };
  struct Memory {
    std::string device, fact;
    std::optional<std::uint64_t> a, b;
  };
  std::vector<Device> devices;
  std::vector<Kernel> kernels;  // of devices that are in both
  std::vector<Type> types;      // of devices that are in both
  std::vector<Memory> memory;   // total, limit and ceiling; these do not count

  bool same() const { return devices.empty() && kernels.empty() && types.empty(); }
};

// kInvalid when the two were held to different filters.
Result<CapsDiff> DiffCaps(const CapsReport& a, const CapsReport& b);

// The members of the vt.caps-diff/1 document after "schema", "tool", "a" and "b".
void WriteDiffBody(const CapsDiff& diff, JsonWriter& json);

}  // namespace vt
