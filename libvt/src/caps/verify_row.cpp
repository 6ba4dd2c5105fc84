#include "caps/verify_row.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>

#include "caps/call_runner.h"
#include "ops/cases/bound_call.h"
#include "ops/cases/op_cases.h"

namespace vt {
namespace {

constexpr int kMostParts = 3;
constexpr int kTimedRuns = 5;
constexpr std::uint64_t kSeed = 20240229;

struct Comparison {
  bool exact = true;
  std::int64_t values = 0;
  std::int64_t wrong = 0;
  double worst = 0;  // largest error over the largest value
  double bound = 0;
  double squared_error = 0;
  double squared_value = 0;
};

float FloatAt(std::span<const std::uint8_t> bytes, std::size_t index) {
  float value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

bool SameBits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void CompareBytes(const CallOutput& want, const CallOutput& got, Comparison& result) {
  result.values += static_cast<std::int64_t>(want.bytes.size());
  for (std::size_t i = 0; i < want.bytes.size(); ++i) {
    if (want.bytes[i] != got.bytes[i]) ++result.wrong;
  }
}

void CompareFloats(const CallOutput& want, const CallOutput& got, const BoundCall& bound,
                   Comparison& result) {
  const std::size_t count = want.bytes.size() / sizeof(float);
  double largest = bound.scale();
  for (std::size_t i = 0; i < count; ++i) {
    const double value = std::abs(FloatAt(want.bytes, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  result.bound = result.exact ? 0 : static_cast<double>(16 + bound.length()) * 0x1p-23;
  result.values += static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float w = FloatAt(want.bytes, i), g = FloatAt(got.bytes, i);
    if (SameBits(w, g)) {
      if (std::isfinite(w)) result.squared_value += double{w} * w;
      continue;
    }
    double error = std::abs(double{w} - g) / (largest > 0 ? largest : 1);
    if (!std::isfinite(error)) error = HUGE_VAL;
    result.worst = std::max(result.worst, error);
    if (result.exact || !(error <= result.bound)) ++result.wrong;
    result.squared_error += (double{w} - g) * (double{w} - g);
    result.squared_value += double{w} * w;
  }
}

// The process's answer for one row.
template <class Args>
class RowCheck {
 public:
  RowCheck(const Registry& registry, const Kernel<Args>& kernel, const DeviceInfo& device,
           VerifyFigures& figures)
      : registry_(registry),
        kernel_(kernel),
        device_(device),
        figures_(figures),
        runner_(registry, device) {}

  void Run() {
    DeviceInfo host;
    auto memory = OpenDeviceMemory(device_);
    auto host_memory = OpenDeviceMemory(host);
    for (const Status& status : {memory.status(), host_memory.status()}) {
      if (!status.ok()) return Fail(VerifyFigures::State::kError, status.message());
    }
    memory_ = std::move(*memory);
    host_memory_ = std::move(*host_memory);
    std::uint64_t turn = 0;
    for (const OpCase& one : CasesOf(Args::kOp)) {
      RunCase(one, ++turn);
      if (figures_.state == VerifyFigures::State::kError) return;
    }
    if (figures_.values > 0) {
      figures_.nmse = squared_value_ > 0 ? squared_error_ / squared_value_
                                         : (squared_error_ > 0 ? HUGE_VAL : 0);
    }
    if (figures_.state == VerifyFigures::State::kOk) TimeIt();
  }

 private:
  bool Takes(const OpCase& one) const {
    return AskKernel(registry_, device_, kernel_, std::get<Args>(one.call), {}).refusal ==
           Refusal::kNone;
  }

  // The first failure is the row's.
  void Fail(VerifyFigures::State state, const std::string& reason) {
    if (figures_.state != VerifyFigures::State::kOk) return;
    figures_.state = state;
    figures_.reason = reason;
  }

  void RunCase(const OpCase& one, std::uint64_t turn) {
    if (one.refused) {
      // Whether the output lies on an input is not seen without memory.
      if (!one.in_place && Takes(one)) {
        Fail(VerifyFigures::State::kWrong, LabelOf(one) + ": taken, and no kernel may take it");
      }
      return;
    }
    if (!Takes(one)) return;
    const Status status = CompareCase(one, kSeed + turn, 1 + static_cast<int>(turn % kMostParts));
    if (!status.ok()) {
      const bool wrote = status.code() == Code::kInternal;
      Fail(wrote ? VerifyFigures::State::kWrong : VerifyFigures::State::kError,
           LabelOf(one) + ": " + status.message());
    }
  }

  Status CompareCase(const OpCase& one, std::uint64_t seed, int parts) {
    VT_ASSIGN_OR_RETURN(const auto reference, BoundCall::Make(one, *host_memory_, seed, 1));
    VT_RETURN_IF_ERROR(RunReference(registry_, reference->call()));
    VT_ASSIGN_OR_RETURN(const auto want, reference->Outputs());
    VT_ASSIGN_OR_RETURN(const auto bound, BoundCall::Make(one, *memory_, seed, parts));
    VT_RETURN_IF_ERROR(runner_.Run(kernel_, std::get<Args>(bound->call()), parts));
    ++figures_.cases;
    VT_RETURN_IF_ERROR(bound->CheckUntouched());
    VT_ASSIGN_OR_RETURN(const auto got, bound->Outputs());
    Comparison result;
    result.exact = device_.kind == DeviceKind::kCpu || kernel_.run;
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i].kind == CallOutput::Kind::kF32) {
        CompareFloats(want[i], got[i], *bound, result);
      } else {
        CompareBytes(want[i], got[i], result);
      }
    }
    Count(one, result);
    return {};
  }

  void Count(const OpCase& one, const Comparison& result) {
    figures_.values += result.values;
    figures_.wrong_values += result.wrong;
    squared_error_ += result.squared_error;
    squared_value_ += result.squared_value;
    const double nearness = result.bound > 0 ? result.worst / result.bound : result.worst;
    if (figures_.worst_case.empty() || nearness > nearness_) {
      nearness_ = nearness;
      figures_.worst_case = LabelOf(one);
      figures_.max_error = result.worst;
      figures_.bound = result.bound;
    }
    if (result.wrong > 0) {
      Fail(VerifyFigures::State::kWrong, LabelOf(one) + ": " + std::to_string(result.wrong) +
                                             " of " + std::to_string(result.values) +
                                             " values differ from the reference");
    }
  }

  void TimeIt() {
    for (const OpCase& one : SpeedCasesOf(Args::kOp)) {
      if (one.refused || !Takes(one)) continue;
      const auto bound = BoundCall::Make(one, *memory_, kSeed, 1);
      if (!bound.ok()) return;  // a small device: no figure
      double best_s = HUGE_VAL;
      for (int i = 0; i < kTimedRuns; ++i) {
        const auto start = std::chrono::steady_clock::now();
        if (!runner_.Run(kernel_, std::get<Args>((*bound)->call()), 1).ok()) return;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best_s = std::min(best_s, took.count());
      }
      if (best_s > 0) figures_.gb_per_s = static_cast<double>((*bound)->bytes()) / best_s * 1e-9;
      return;
    }
  }

  const Registry& registry_;
  const Kernel<Args>& kernel_;
  const DeviceInfo& device_;
  VerifyFigures& figures_;
  CallRunner runner_;
  std::unique_ptr<DeviceMemory> memory_, host_memory_;
  double squared_error_ = 0, squared_value_ = 0, nearness_ = 0;
};

}  // namespace

VerifyFigures VerifyRow(const Registry& registry, std::string_view op, std::string_view kernel,
                        const DeviceInfo& device) {
  VerifyFigures figures;
  figures.device = device.id;
  registry.ForEach([&]<class Args>(std::string_view row_op, const Kernel<Args>& row) {
    if (row_op == op && row.name == kernel && row.device == device.kind) {
      RowCheck<Args>(registry, row, device, figures).Run();
    }
  });
  return figures;
}

}  // namespace vt
