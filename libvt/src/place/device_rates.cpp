#include "place/device_rates.h"

#include <algorithm>
#include <utility>

#include "ops/matmul_policy.h"

namespace vt {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12, kMicro = 1e-6;

// What kernels reach of a figure that is not measured but a vendor's: streams of a large matrix
// reach about four fifths of the memory's nominal rate, tiled products about half of the peak.
constexpr double kShareOfMemory = 0.8;
constexpr double kShareOfPeak = 0.5;

// Assumed where a description does not say: a desktop's two channels of DDR5, and a middling card.
constexpr double kHostMemory = 50 * kGiga, kCardMemory = 300 * kGiga;
constexpr double kCardCompute = 10 * kTera;
constexpr double kHostClock = 2.5 * kGiga;

// Between an op and the next. On a host the threads meet: about what a barrier and the reading of
// each other's results take. On a card the launch of a kernel, of a queue that is never empty.
constexpr double kHostLaunch = 3 * kMicro, kCardLaunch = 5 * kMicro;
// Of a crossing, one way: the copy is enqueued and waited for. Within the host, a copy alone.
constexpr double kCopyLatency = 10 * kMicro, kHostCopyLatency = 1 * kMicro;
// A card's link that nobody states: PCIe 3.0 x16, less its protocol.
constexpr double kLink = 12 * kGiga;

// Weights that have no form of 15-bit activations are decoded to f32 before they are multiplied:
// values a second of one core (measured: between 1 and 2 on a Sapphire Rapids at 2.3 GHz).
constexpr double kDecodedPerCore = 1.3 * kGiga;
// Scalar reference code, operations a second of one core.
constexpr double kPlainPerCore = 1.0 * kGiga;
// What an op writes the next one mostly finds in a cache: of a host bytes a second of one core
// (measured: 7 to 9 on a Sapphire Rapids at 2.3 GHz), at most this many times memory's rate.
constexpr double kCachedPerCore = 8 * kGiga, kCached = 2;
// An output of a host's product costs as much as so many more of the values it is the sum of:
// scales, the sum of the lanes, the store (measured: 330 to 440, one row or many).
constexpr double kOutputCols = 350;
// An attention's exponentials and short rows keep it under the products' rate.
constexpr double kAttentionShare = 0.5;

bool Measured(const Figure& figure) { return figure.source.starts_with("measured"); }

double LanesOf(const DeviceInfo& device) {
  if (device.features & kFeatureAvx512) return 16;
  if (device.features & kFeatureAvx2) return 8;
  return 4;
}

}  // namespace

std::string_view NameOf(Bound bound) {
  constexpr std::string_view kNames[] = {"reading weights", "reading the KV cache",
                                         "moving activations", "arithmetic", "launches"};
  return kNames[static_cast<std::size_t>(bound)];
}

double DeviceRates::Compute(std::initializer_list<const char*> keys, double* share) const {
  for (const char* key : keys) {
    const auto found = device_.compute_tflops.find(key);
    if (found == device_.compute_tflops.end() || !found->second.value) continue;
    *share = Measured(found->second) ? 1.0 : kShareOfPeak;
    return *found->second.value * kTera;
  }
  return 0;
}

DeviceRates::DeviceRates(const DeviceInfo& device) : device_(device) {
  const bool host = device.kind == DeviceKind::kCpu;
  const auto lacks = [&](const char* what) {
    missing_.append(missing_.empty() ? "" : ", ").append(what);
  };
  if (const Figure& rate = device.memory_gb_per_s; rate.value) {
    memory_ = *rate.value * kGiga * (Measured(rate) ? 1.0 : kShareOfMemory);
  } else {
    memory_ = host ? kHostMemory : kCardMemory;
    lacks("memory_gb_per_s");
  }
  activations_ = memory_ * kCached;
  if (host) activations_ = std::min(activations_, kCachedPerCore * device.cores);
  double share = 1;
  f32_ = Compute({"f32", "f16", "bf16"}, &share) * share;
  if (f32_ == 0 && host) {  // two units of fused multiply-adds
    f32_ = device.cores * kHostClock * LanesOf(device) * 2 * 2 * kShareOfPeak;
  }
  if (f32_ == 0) {
    f32_ = kCardCompute;
    lacks("compute_tflops");
  }
  shares_host_ = host || device.kind == DeviceKind::kSim || device.integrated.yes.value_or(false);
  link_ = device.link_gb_per_s.value ? *device.link_gb_per_s.value * kGiga * kShareOfMemory
          : shares_host_             ? memory_ / 2  // read and written in the one memory there is
                                     : kLink;
  launch_s_ = device.launch_us.value ? *device.launch_us.value * kMicro
              : host                 ? kHostLaunch
                                     : kCardLaunch;
  attention_bytes_ = memory_;
  attention_ops_ = f32_ * kAttentionShare;
  for (const auto& [name, rate] : device.kernel_rates) {
    if (name == kAttentionRate) {
      if (rate.gb_per_s.value) attention_bytes_ = *rate.gb_per_s.value * kGiga;
      if (rate.tflops.value) attention_ops_ = *rate.tflops.value * kTera;
      continue;
    }
    const DTypeInfo* type = FindDType(name);
    if (!type) continue;
    Product product = ProductOf(type->type);
    if (rate.gb_per_s.value) {
      product.bytes_per_s = *rate.gb_per_s.value * kGiga;
      product.values_per_s = 0;
    }
    if (rate.tflops.value) product.ops_per_s = *rate.tflops.value * kTera;
    products_[type->type] = product;
  }
}

DeviceRates::Product DeviceRates::ProductOf(DType type) const {
  if (const auto known = products_.find(type); known != products_.end()) return known->second;
  Product product{.bytes_per_s = memory_, .ops_per_s = f32_, .values_per_s = 0};
  double share = 1;
  if (device_.kind == DeviceKind::kCpu) {
    if (HasQ15Form(type)) {
      // Each value is two digits: two products of bytes.
      const double bytes = Compute({"int8"}, &share);
      if (bytes > 0) product.ops_per_s = share == 1.0 ? bytes : bytes * share / 2;
    } else if (type == DType::kF16 || type == DType::kBF16) {
      // Multiplied in f32 once they are read.
      const double half = Compute({type == DType::kF16 ? "f16" : "bf16"}, &share);
      if (half > 0 && share == 1.0) product.ops_per_s = half;
    } else if (type != DType::kF32) {
      product.values_per_s = kDecodedPerCore * device_.cores;
    }
    return product;
  }
  const double bits = 8.0 * InfoOf(type).block_bytes / InfoOf(type).block;
  double rate = 0;
  if (type == DType::kF32) {
    rate = Compute({"f32"}, &share);
  } else if (type == DType::kF8_E4M3) {
    rate = Compute({"fp8", "bf16", "f16", "f32"}, &share);
  } else if (!IsBlockQuantised(type)) {
    rate = type == DType::kF16 ? Compute({"f16", "bf16", "f32"}, &share)
                               : Compute({"bf16", "f16", "f32"}, &share);
  } else if (bits <= 5) {
    rate = Compute({"int4", "int8", "f16", "bf16", "f32"}, &share);
  } else {
    rate = Compute({"int8", "f16", "bf16", "f32"}, &share);
  }
  if (rate > 0) product.ops_per_s = rate * share;
  return product;
}

OpTime DeviceRates::TimeOf(const OpWork& work, bool plain) const {
  Product product{.bytes_per_s = memory_, .ops_per_s = f32_, .values_per_s = 0};
  if (work.weight) product = ProductOf(*work.weight);
  if (work.cell_bytes > 0 && !work.weight) product.ops_per_s = attention_ops_;
  double ops_per_s = product.ops_per_s;
  if (plain && device_.kind == DeviceKind::kCpu) {
    ops_per_s = std::min(ops_per_s, kPlainPerCore * device_.cores);
  }
  // Rates are those of long rows; short ones have more outputs for their work.
  double slower = 1;
  if (device_.kind == DeviceKind::kCpu && work.cols > 0) {
    slower = (1 + kOutputCols / static_cast<double>(work.cols)) / (1 + kOutputCols / kRateCols);
  }
  // What memory takes of a byte's time does not grow with them.
  const double byte_s = 1 / product.bytes_per_s, memory_byte_s = std::min(byte_s, 1 / memory_);
  const double weights = work.weight_bytes * (memory_byte_s + (byte_s - memory_byte_s) * slower);
  const double cells = work.cell_bytes / attention_bytes_;
  const double activations = work.activation_bytes / activations_;
  double arithmetic = work.operations / ops_per_s * slower;
  if (product.values_per_s > 0) {
    const DTypeInfo& type = InfoOf(*work.weight);
    arithmetic += work.weight_bytes / type.block_bytes * type.block / product.values_per_s;
  }
  OpTime time{arithmetic, Bound::kArithmetic};
  const double bytes = weights + cells + activations;
  if (bytes > arithmetic) {
    time.seconds = bytes;
    time.bound = weights >= std::max(cells, activations) ? Bound::kWeights
                 : cells >= activations                  ? Bound::kCells
                                                         : Bound::kActivations;
  }
  if (launch_s_ > time.seconds) time.bound = Bound::kLaunch;
  time.seconds += launch_s_;
  return time;
}

double HostCopySeconds(const DeviceInfo& device, const DeviceRates& rates, double copies,
                       double bytes) {
  if (device.kind == DeviceKind::kCpu) return 0;
  const double latency = device.kind == DeviceKind::kSim ? kHostCopyLatency : kCopyLatency;
  return copies * latency + bytes / rates.link_bytes_per_s();
}

double CrossingSeconds(const DeviceInfo& a, const DeviceRates& a_rates, const DeviceInfo& b,
                       const DeviceRates& b_rates, double bytes) {
  return HostCopySeconds(a, a_rates, 1, bytes) + HostCopySeconds(b, b_rates, 1, bytes);
}

}  // namespace vt
