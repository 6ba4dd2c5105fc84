// A case with memory: seeded inputs, outputs between guard bytes, scratch, all on one device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device_memory.h"
#include "ops/cases/op_cases.h"

namespace vt {

// What a call wrote: values of one kind.
struct CallOutput {
  enum class Kind { kF32, kBytes };  // kBytes: whole numbers and cells, compared as they are
  Kind kind = Kind::kF32;
  std::vector<std::uint8_t> bytes;
};

class BoundCall {
 public:
  // The same case and seed give the same inputs whatever the memory. `parts`: the most parts that
  // it will be run in. Outputs start as NaNs (bytes of all ones), so that what is never written is
  // seen. kNoMemory when the memory refuses; nothing is left allocated then, nor after destruction.
  static Result<std::unique_ptr<BoundCall>> Make(const OpCase& op_case, DeviceMemory& memory,
                                                 std::uint64_t seed, int parts);
  ~BoundCall();
  BoundCall(const BoundCall&) = delete;
  BoundCall& operator=(const BoundCall&) = delete;

  const AnyArgs& call() const { return call_; }
  // Inputs and outputs, each once.
  std::uint64_t bytes() const { return bytes_; }

  // What rounding is measured by: the additions behind one value of the result, and a size that
  // values have whatever cancels.
  std::int64_t length() const { return length_; }
  double scale() const { return scale_; }

  // kInternal when bytes beside a buffer, or an input, are not what they were.
  Status CheckUntouched() const;
  // The pages of an AttentionRow come as the buffer that they lie in and the place there.
  Result<std::vector<CallOutput>> Outputs() const;

 private:
  friend class Binder;
  struct Buffer {
    void* base = nullptr;             // guard, values, guard
    std::vector<std::uint8_t> image;  // the values at the start
    enum class Use { kInput, kOutput, kScratch } use = Use::kInput;
    CallOutput::Kind kind = CallOutput::Kind::kF32;
    std::string name;
    bool rows = false;  // AttentionRows
  };

  explicit BoundCall(DeviceMemory& memory) : memory_(memory) {}
  void PlacePages(std::vector<std::uint8_t>& rows) const;

  DeviceMemory& memory_;
  AnyArgs call_;
  std::vector<Buffer> buffers_;
  std::uint64_t bytes_ = 0;
  std::int64_t length_ = 1;
  double scale_ = 0;
};

}  // namespace vt
