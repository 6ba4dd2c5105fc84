// Pins and the rules for experts: which matrices must lie on which device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "place/place.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

struct PinnedTensors {
  std::vector<int> device;         // by tensor: index into the devices; -1: free
  std::vector<int> rule;           // by tensor: index into `rules`; -1
  std::vector<std::string> rules;  // "pin ffn_.*_exps=cpu", "--n-cpu-moe 24"
  const std::string& RuleOf(std::size_t tensor) const {
    return rules[static_cast<std::size_t>(rule[tensor])];
  }
};

// Of the request's pins, cpu_moe and n_cpu_moe. kInvalid: a pattern that does not compile (with the
// place where), that finds nothing (with near names) or no matrix; a device that is not there; two
// rules that claim a tensor for different devices (both and the tensor); experts on the cpu of a
// model that has none, or without a cpu.
Result<PinnedTensors> ResolvePins(const GgufFile& file, const ModelSpec& spec,
                                  const PlaceRequest& request);

}  // namespace vt
