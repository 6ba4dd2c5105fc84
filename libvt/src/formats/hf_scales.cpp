#include "formats/hf_scales.h"

#include <algorithm>
#include <optional>

#include "formats/file_error.h"

namespace vt {
namespace {

constexpr std::string_view kSchemes =
    "allowed: quant_method compressed-tensors with 8-bit float weights, strategy channel, tensor "
    "or "
    "block of 128 x 128; quant_method fp8, weight_block_size 128 x 128 or none";

std::string Number(std::uint64_t value) { return std::to_string(value); }

Status BadScheme(const HfConfig& config, const std::string& key, const std::string& value) {
  return config.Unsupported(key, value + " is no FP8 scheme that is read (" +
                                     std::string(kSchemes) +
                                     "); give an unquantised folder or a GGUF file");
}

// kUnsupported unless the two sizes under `key` are 128.
Status CheckBlock(const HfConfig& config, const std::string& key, bool required) {
  VT_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> sizes, config.U64s(key));
  if (sizes.empty() && !required) return {};
  if (sizes == std::vector{kHfScaleBlock, kHfScaleBlock}) return {};
  std::string seen = sizes.empty() ? "nothing" : "[";
  for (const std::uint64_t size : sizes) seen += (seen.size() > 1 ? ", " : "") + Number(size);
  return BadScheme(config, key, seen + (sizes.empty() ? "" : "]"));
}

Status CheckGroup(const HfConfig& config, const std::string& at) {
  VT_ASSIGN_OR_RETURN(const auto bits, config.U64(at + "num_bits"));
  VT_ASSIGN_OR_RETURN(const auto type, config.String(at + "type"));
  VT_ASSIGN_OR_RETURN(const auto strategy, config.String(at + "strategy"));
  VT_ASSIGN_OR_RETURN(const auto symmetric, config.Bool(at + "symmetric"));
  if (bits != 8u) {
    return BadScheme(config, at + "num_bits", bits ? Number(*bits) : "nothing");
  }
  if (type != "float") return BadScheme(config, at + "type", Quoted(type.value_or("")));
  if (!symmetric.value_or(true)) return BadScheme(config, at + "symmetric", "false");
  if (strategy == "block") return CheckBlock(config, at + "block_structure", true);
  if (strategy == "channel" || strategy == "tensor") return {};
  return BadScheme(config, at + "strategy", Quoted(strategy.value_or("")));
}

std::uint64_t Ceil(std::uint64_t size) {
  return size / kHfScaleBlock + (size % kHfScaleBlock != 0);
}

}  // namespace

Status CheckHfQuantization(const HfConfig& config) {
  const std::string root =
      config.Has("quantization_config") ? "quantization_config" : "compression_config";
  if (!config.Has(root)) return {};
  const std::string at = root + ".";
  VT_ASSIGN_OR_RETURN(const auto method, config.String(at + "quant_method"));
  if (method == "fp8") {
    VT_ASSIGN_OR_RETURN(const auto format, config.String(at + "fmt"));
    if (format.value_or("e4m3") != "e4m3") return BadScheme(config, at + "fmt", Quoted(*format));
    return CheckBlock(config, at + "weight_block_size", false);
  }
  if (method != "compressed-tensors") {
    return BadScheme(config, at + "quant_method", Quoted(method.value_or("")));
  }
  VT_ASSIGN_OR_RETURN(const auto format, config.String(at + "format"));
  if (format && *format != "float-quantized" && *format != "naive-quantized") {
    return BadScheme(config, at + "format", Quoted(*format));
  }
  for (const std::string& group : config.Keys(at + "config_groups")) {
    VT_RETURN_IF_ERROR(CheckGroup(config, at + "config_groups." + group + ".weights."));
  }
  return {};
}

std::vector<std::string> HfScaleNames(std::string_view weight) {
  const std::string name(weight);
  return {name + "_scale", name + "_scale_inv"};
}

bool IsHfScaleName(std::string_view name) {
  return name.ends_with("_scale") || name.ends_with("_scale_inv") ||
         name.find("scale_weight") != std::string_view::npos;
}

Result<HfScaleForm> FindHfScaleForm(const SafetensorsTensor& weight,
                                    const SafetensorsTensor& scale) {
  const std::span<const std::uint64_t> dims = weight.shape();
  const std::size_t lead = dims.size() - 2;
  const std::uint64_t rows = dims[lead], cols = dims[lead + 1];
  std::span<const std::uint64_t> rest = scale.shape();
  const bool leads =
      rest.size() >= lead &&
      std::equal(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(lead), rest.begin());
  if (leads) {
    rest = rest.subspan(lead);
    if (std::all_of(rest.begin(), rest.end(), [](std::uint64_t d) { return d == 1; }) &&
        rest.size() <= 2) {
      return HfScaleForm::kOne;
    }
    if (rest.size() <= 2 && rest[0] == rows && (rest.size() == 1 || rest[1] == 1)) {
      return HfScaleForm::kRow;
    }
    if (rest.size() == 2 && rest[0] == Ceil(rows) && rest[1] == Ceil(cols)) {
      return HfScaleForm::kBlock;
    }
  }
  std::string before;
  for (std::size_t i = 0; i < lead; ++i) before += Number(dims[i]) + ", ";
  return CorruptError("scale " + Quoted(scale.name) + ": shape " + ShapeText(scale.shape()) +
                      " (want [" + before + Number(rows) + "], [" + before + Number(rows) +
                      ", 1], [" + before + "1] or [" + before + Number(Ceil(rows)) + ", " +
                      Number(Ceil(cols)) + "] for the weight of shape " +
                      ShapeText(weight.shape()) + ")");
}

}  // namespace vt
