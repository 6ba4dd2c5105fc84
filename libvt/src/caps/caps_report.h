// What a machine can run: its devices, and every kernel row with its state there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/profile.h"
#include "ops/registry.h"
#include "vt/device.h"

namespace vt {

// What became of one row on one device when its cases were run (caps/verify.h).
struct VerifyFigures {
  enum class State {
    kOk,
    kWrong,  // a result out of bound, bytes written elsewhere, or a case taken that none may take
    kError,  // a call returned an error
    kCrash,  // the process died
    kHang,   // it did not come back in time
  };
  std::string device;
  State state = State::kOk;
  std::string reason;       // of all but kOk
  std::int64_t cases = 0;   // that were run
  std::int64_t values = 0;  // that were compared
  std::int64_t wrong_values = 0;
  // Of the case that came nearest to its bound (or past it): the largest error, as a share of the
  // largest value, what that may be, and the case. No bound: the bits must be the same.
  double max_error = 0;
  double bound = 0;
  std::string worst_case;
  double nmse = 0;                 // squared error over squared value, all cases
  std::optional<double> gb_per_s;  // 10^9 bytes read and written a second, on one thread
};
std::string_view NameOf(VerifyFigures::State state);  // "ok", "wrong", "error", "crash", "hang"

struct CapsRow {
  enum class State { kUsable, kUnusable, kNotBuilt };
  std::string op;
  std::string kernel;
  DeviceKind kind = DeviceKind::kCpu;
  Tier tier = Tier::kReference;
  int priority = 0;
  std::uint32_t needs = 0;                    // CpuFeature bits
  std::vector<std::string> types = {};        // taken where all that it needs is there (TypeOf)
  std::vector<std::string> activations = {};  // "f32", "q15"
  State state = State::kUsable;
  std::string reason = {};                // of all but kUsable
  std::vector<std::string> devices = {};  // ids where it is usable
  std::vector<VerifyFigures> verify = {};
};
std::string_view NameOf(CapsRow::State state);  // "usable", "unusable", "not_built"

// Names that a report was held to; empty: all.
struct CapsFilters {
  std::vector<std::string> ops;
  std::vector<std::string> dtypes;        // rows that take one of these types
  std::vector<std::string> devices = {};  // ids or kinds
  bool any() const { return !ops.empty() || !dtypes.empty() || !devices.empty(); }
  bool WantsOp(std::string_view op) const;
  bool WantsType(std::string_view type) const;  // of a pair, either of its types
  bool WantsDevice(std::string_view id) const;
  bool WantsKind(DeviceKind kind) const;  // of the kind of a wanted id or kind
};

struct CapsReport {
  Machine machine;
  std::vector<CapsRow> rows;  // in the order of the op table, then by kind, priority and name
  CapsFilters filters;
  std::vector<UndrivenDevice> undriven;  // of a described machine
};

// A row is usable on a device when the op table's JudgeRow says so and it takes at least one of the
// cases of op_cases.h there.
CapsReport MakeCapsReport(const Registry& registry, const Machine& machine,
                          const CapsFilters& filters = {});

// A device of a kind that has everything kernels may ask for, of any build.
DeviceInfo IdealDevice(DeviceKind kind);

// A list of types for people: pairs of cell types in words where all of them are there.
std::string TypesText(const std::vector<std::string>& types);

}  // namespace vt
