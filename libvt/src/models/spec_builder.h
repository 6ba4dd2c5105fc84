// Reads a ModelSpec from a GGUF header by the rules of a Family.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/family.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

class SpecBuilder {
 public:
  SpecBuilder(const GgufFile& file, const Family& family);

  Result<ModelSpec> Build();

  // Metadata under the architecture's prefix ("llama.block_count" is Count("block_count", ...)).
  // Errors are kCorrupt and name the key, the value and the values allowed.
  std::string Key(std::string_view name) const;
  Result<std::optional<std::uint64_t>> Count(std::string_view name, std::uint64_t min,
                                             std::uint64_t max) const;
  Result<std::uint64_t> RequiredCount(std::string_view name, std::uint64_t min,
                                      std::uint64_t max) const;
  Result<std::optional<double>> Number(std::string_view name, double min, double max) const;
  Result<std::optional<bool>> Flag(std::string_view name) const;
  Result<double> NumberOr(std::string_view name, double fallback, double min, double max) const;
  // A scalar for all layers, or an array with a value for each.
  Result<std::optional<std::vector<std::uint64_t>>> CountPerLayer(std::string_view name,
                                                                  std::uint64_t min,
                                                                  std::uint64_t max) const;

  const GgufFile& file() const { return file_; }
  // Whether the file has the tensor.
  bool Has(const std::string& name) const { return file_.FindTensor(name) != nullptr; }

  // The tensor `name`, whose shape must be [rows, cols] (rows 1: a vector). Absent: an empty ref,
  // or an error when required. An f8_e4m3 tensor X.weight comes with its scales,
  // X.weight_scale or X.weight_scale_inv (vt/gguf.h).
  Result<WeightRef> Tensor(const std::string& name, std::int64_t rows, std::int64_t cols,
                           Presence presence);
  Result<LinearRef> Linear(const std::string& name, std::int64_t rows, std::int64_t cols,
                           Presence presence, Presence bias);
  Result<LinearRef> Norm(const std::string& name, std::int64_t cols, Presence presence);

 private:
  Status ReadSizes(ModelSpec& spec);
  Status ReadHeads(ModelSpec& spec);
  Status ReadAttentionSizes(ModelSpec& spec);
  Status ReadWindows(ModelSpec& spec);
  Status ReadWindowedHeads(ModelSpec& spec);
  Status ReadRopeFactors(RopeSpec& rope);
  Status ReadRopes(ModelSpec& spec);
  Status ReadTensors(ModelSpec& spec);
  Status ReadLayer(ModelSpec& spec, std::size_t index);
  Status ReadAttention(LayerSpec& layer, const std::string& prefix, std::int64_t width);
  Status ReadQkv(LayerSpec& layer, const std::string& prefix, std::int64_t width);
  Status ReadFfn(LayerSpec& layer, const std::string& prefix, std::int64_t width);

  // The scales of the f8_e4m3 tensor that `ref` is of.
  Status ReadScales(const GgufTensor& tensor, WeightRef& ref);

  // latent_tensors.cpp: keys and tensors of multi-head latent attention.
  Status ReadLatentSizes(ModelSpec& spec);
  Status ReadLatent(ModelSpec& spec, std::size_t index, const std::string& prefix);
  // recurrent_tensors.cpp
  Status ReadRecurrentSizes(ModelSpec& spec);
  Status ReadRecurrent(LayerSpec& layer, const std::string& prefix, std::int64_t width);
  Status ReadScanSizes(RecurrentSpec& r);
  Status ReadMamba2(RecurrentSpec& r, const std::string& prefix, std::int64_t width);
  Status ReadDeltaNet(RecurrentSpec& r, const std::string& prefix, std::int64_t width);
  Status ReadShortConv(RecurrentSpec& r, const std::string& prefix, std::int64_t width);
  // moe_tensors.cpp
  Status ReadMoeSizes(ModelSpec& spec);
  bool HasExperts(const MoeSpec& moe, std::size_t index) const;
  Status ReadExperts(LayerSpec& layer, const std::string& prefix, std::int64_t width);
  Status ReadSharedExpert(MoeSpec& moe, const std::string& prefix, std::int64_t width);
  Result<ExpertRef> Experts(const MoeSpec& moe, const std::string& name, std::int64_t rows,
                            std::int64_t cols, Presence presence);

  const GgufFile& file_;
  const Family& family_;
  std::uint64_t layer_count_ = 0;
  std::uint64_t leading_dense_ = 0;
  std::uint64_t moe_step_ = 1;
  std::vector<bool> windowed_;
  std::vector<bool> used_;
};

}  // namespace vt
