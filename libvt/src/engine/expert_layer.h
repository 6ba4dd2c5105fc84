// The experts of one layer, on the device that is preferred for them or on the host.
//
// The choice is made once, before a byte is uploaded: the preferred device must run every op of a
// step, hold the weights' types and have room for them; else the host keeps the layer, and
// reason() says why. Guard and step build their ops with the same function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device_memory.h"
#include "engine/op_runner.h"
#include "ops/args.h"
#include "vt/status.h"

namespace vt {

// Matrices of all experts, in host memory: down(act(gate x) * up x).
struct ExpertWeights {
  Weight gate;  // [experts * inner, width]
  Weight up;    // [experts * inner, width]
  Weight down;  // [experts * width, inner]
  std::int64_t experts = 0;
  Activation activation = Activation::kSilu;
  std::int64_t width() const { return gate.cols; }
  std::int64_t inner() const { return down.cols; }
};

class ExpertLayer {
 public:
  // A device with its runner and memory, all of which outlive the layer.
  struct Place {
    const DeviceInfo* device = nullptr;
    DeviceMemory* memory = nullptr;
    OpRunner* ops = nullptr;
  };

  // `preferred.device` null: the host. A step has at most `most_rows` rows. kUnsupported when the
  // host cannot run the layer either.
  static Result<ExpertLayer> Create(const ExpertWeights& weights, std::int64_t most_rows,
                                    Place host, Place preferred, const Registry& registry,
                                    const ResolveOptions& options);

  // out[r, :] = expert ids[r] of x[r, :]; all in host memory. x, out: [rows, width].
  Status Step(const float* x, const std::int32_t* ids, std::int64_t rows, float* out);

  const DeviceInfo& device() const { return *place_.device; }
  const std::string& reason() const { return reason_; }  // empty on the preferred device

 private:
  struct Buffers {
    float* x = nullptr;
    std::int32_t* ids = nullptr;
    Q15Rows quantized;
    float* gate = nullptr;
    float* up = nullptr;
    float* out = nullptr;
  };
  static std::vector<AnyArgs> Calls(const ExpertWeights& weights, const Buffers& buffers,
                                    std::int64_t rows, DeviceKind device);
  Status Load(std::int64_t most_rows);

  Place place_;
  ExpertWeights weights_;  // where place_ reads them
  std::int64_t most_rows_ = 0;
  std::string reason_;
  Arena arena_;
  Buffers buffers_;
};

}  // namespace vt
