// How fast a device is, as its description tells it, and what is taken for what it does not tell.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "place/op_work.h"
#include "vt/device.h"
#include "vt/dtype.h"

namespace vt {

// What bounds an op.
enum class Bound { kWeights, kCells, kActivations, kArithmetic, kLaunch };
std::string_view NameOf(Bound bound);  // "reading weights", "arithmetic", ..

struct OpTime {
  double seconds = 0;
  Bound bound = Bound::kLaunch;
};

class DeviceRates {
 public:
  explicit DeviceRates(const DeviceInfo& device);

  // `plain`: by scalar reference code.
  OpTime TimeOf(const OpWork& work, bool plain) const;

  // Of a value that goes there from the host, or back; infinite is never returned.
  double link_bytes_per_s() const { return link_; }
  // The device's memory is the host's own: nothing is copied by a link.
  bool shares_host() const { return shares_host_; }

  // "memory_gb_per_s": a rate that had to be assumed; empty when all were known.
  const std::string& missing() const { return missing_; }

 private:
  struct Product {
    double bytes_per_s = 0;   // of a weight, one row at a time
    double ops_per_s = 0;     // many rows
    double values_per_s = 0;  // decoded before they are multiplied; 0: they are not
  };
  Product ProductOf(DType type) const;
  double Compute(std::initializer_list<const char*> keys, double* share) const;

  const DeviceInfo device_;
  double memory_ = 0;
  double activations_ = 0;
  double f32_ = 0;
  double link_ = 0;
  double launch_s_ = 0;
  double attention_bytes_ = 0;
  double attention_ops_ = 0;
  bool shares_host_ = false;
  std::string missing_;
  std::map<DType, Product> products_;
};

// Of so many copies between the host's memory and the device's, of so many bytes in all.
double HostCopySeconds(const DeviceInfo& device, const DeviceRates& rates, double copies,
                       double bytes);

// Of what goes from one device to another; `a` and `b` may be the host's. Two accelerators go by
// way of the host.
double CrossingSeconds(const DeviceInfo& a, const DeviceRates& a_rates, const DeviceInfo& b,
                       const DeviceRates& b_rates, double bytes);

}  // namespace vt
