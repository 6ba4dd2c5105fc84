// The scales of FP8 weights in Hugging Face folders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hf_config.h"
#include "formats/safetensors.h"
#include "vt/status.h"

namespace vt {

inline constexpr std::uint64_t kHfScaleBlock = 128;

enum class HfScaleForm {
  kOne,    // one for the matrix (for each, where the weight is several)
  kRow,    // one per row
  kBlock,  // one per 128 x 128 values
};

// "quantization_config" (or "compression_config"): kUnsupported names a scheme that is not read and
// those that are: compressed-tensors of 8-bit floats per tensor, channel or 128 x 128 block, and
// fp8 per tensor or 128 x 128 block. Nothing at all is right too.
Status CheckHfQuantization(const HfConfig& config);

// The names that the scale of `weight` may have, in the order they are looked for.
std::vector<std::string> HfScaleNames(std::string_view weight);
// Whether a tensor of this name is a scale of another.
bool IsHfScaleName(std::string_view name);

// By the shapes: weight [.., rows, cols] with scale [..], [.., 1, 1] (kOne), [.., rows] or
// [.., rows, 1] (kRow), [.., ceil(rows / 128), ceil(cols / 128)] (kBlock). The error's text says
// what is wanted.
Result<HfScaleForm> FindHfScaleForm(const SafetensorsTensor& weight,
                                    const SafetensorsTensor& scale);

}  // namespace vt
