// What a run takes of a device beside the rows of its memory plan: the runtime of the device
// (contexts and libraries; on the host the program, the tokenizer and what is read of the header),
// measured or a stated default, and a margin that is kept free.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "vt/device.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::string_view kCalibrationSchema = "vt.calibration/1";

// The runtime of one device as a run has measured it.
struct CalibratedDevice {
  std::string id;
  std::string name;  // as the device calls itself; empty: not told
  std::uint64_t runtime_bytes = 0;
  std::uint64_t header_bytes = 0;  // of the model of that run
};

struct Calibration {
  std::string file;  // empty: none
  std::vector<CalibratedDevice> devices;
};

struct Overhead {
  std::uint64_t runtime_bytes = 0;
  std::string runtime_how;  // "measured (FILE)", "assumed for kind cuda"
  std::uint64_t margin_bytes = 0;
  std::uint64_t bytes() const { return runtime_bytes + margin_bytes; }
};

// Of a device that a run of this model uses, and of other files with `more_header_bytes`. The
// figures of a calibration count for a device of the same id and name.
Overhead OverheadOf(const GgufFile& file, const DeviceInfo& device,
                    const Calibration& calibration = {}, std::uint64_t more_header_bytes = 0);

// What a model's files hold beside tensors: of a folder, headers and files that are read whole.
std::uint64_t HeaderBytes(const GgufFile& file);

// "devices": [..] of a vt.calibration/1 document (docs/json/vt.calibration.md).
void WriteCalibratedDevices(JsonWriter& json, const std::vector<CalibratedDevice>& devices);

// kInvalid, at() a JSON pointer: not such a document, a newer schema, a value that cannot be.
Result<Calibration> ReadCalibration(std::string_view json, std::string file);

}  // namespace vt
