// The op table: every kernel of every device as one row. ops/resolve.h answers what runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "ops/args.h"
#include "ops/part.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt {

class GpuStream;  // gpu/stream.h: the queue that kernels of a GPU or of its emulator run on

// How good a kernel is, worst first: plain scalar code; built from other ops of the same device;
// written for the device.
enum class Tier { kReference, kComposed, kNative };
std::string_view NameOf(Tier tier);
Result<Tier> ParseTier(std::string_view name);

// A kernel's answer for one set of arguments; reason is empty for yes. It looks at shapes and types
// only, so it may be asked before any memory exists.
struct Support {
  bool yes = true;
  std::string reason;
};

template <class... Args>
struct OpList;
template <class Args>
struct Kernel;

template <class... Args>
struct OpList {
  using Rows = std::tuple<std::vector<Kernel<Args>>...>;
  using Any = std::variant<Args...>;
};
template <class, class... Args>
using OpListWithout = OpList<Args...>;
#define VT_NEXT_ARGS(Op) , Op##Args
using AllOps = OpListWithout<void VT_OPS(VT_NEXT_ARGS)>;  // in the order of op_list.h
#undef VT_NEXT_ARGS
using AnyArgs = AllOps::Any;  // one call of any op
inline const char* OpOf(const AnyArgs& call) {
  return std::visit([](const auto& args) { return std::decay_t<decltype(args)>::kOp; }, call);
}

// A row. A kernel runs in exactly one way: `run` on the host's threads, `launch` on a GPU's queue,
// `compose` as other ops of the same device; with none of them it is compiled out of this build.
template <class Args>
struct Kernel {
  std::string name;  // "cpu.avx512vnni.q4_k"; unique within an op
  DeviceKind device = DeviceKind::kCpu;
  Tier tier = Tier::kReference;
  int priority = 0;         // reference 0, composed 5, native from 10
  std::uint32_t needs = 0;  // CpuFeature bits
  Support (*supports)(const Args&) = nullptr;
  void (*run)(const Args&, Part) = nullptr;
  // The most parts worth running; null means one part per row or item is fine.
  int (*max_parts)(const Args&) = nullptr;
  Status (*launch)(const Args&, GpuStream&) = nullptr;
  std::vector<AnyArgs> (*compose)(const Args&) = nullptr;

  bool built() const { return run || launch || compose; }
};

class Registry {
 public:
  template <class Args>
  void Add(Kernel<Args> kernel) {
    std::get<std::vector<Kernel<Args>>>(rows_).push_back(std::move(kernel));
  }
  template <class Args>
  const std::vector<Kernel<Args>>& Rows() const {
    return std::get<std::vector<Kernel<Args>>>(rows_);
  }
  // Calls visit(op name, kernel) for every row of every op, in the order of AllOps.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    std::apply([&](const auto&... lists) { (VisitRows(lists, visit), ...); }, rows_);
  }
  // kInternal when two rows of an op share a name, a built row can run in more than one way, or the
  // CPU has neither a reference nor a composed row for an op.
  Status Check() const;

 private:
  template <class Args, class Visit>
  static void VisitRows(const std::vector<Kernel<Args>>& list, Visit&& visit) {
    for (const Kernel<Args>& kernel : list) visit(std::string_view(Args::kOp), kernel);
  }
  AllOps::Rows rows_;
};

// The registry of all kernels of this library, built or compiled out.
const Registry& BuiltinKernels();

// Op names in the order of AllOps.
const std::vector<std::string_view>& OpNames();

}  // namespace vt
