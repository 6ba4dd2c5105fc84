// The geometry of a model without its weights: metadata and tensors, of a name or of a header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

// A metadata key as it stands in a GGUF file.
struct SynthKey {
  std::string name;
  GgufType type = GgufType::kU32;
  std::string bytes;  // the value as GGUF encodes it
};

struct SynthTensor {
  std::string name;
  std::vector<std::uint64_t> dims;  // fastest first
  DType type = DType::kF32;
};

struct SynthModel {
  std::string name;
  std::string architecture;
  std::int64_t layers = 0;
  std::vector<SynthKey> keys;  // without those of a tokenizer
  std::vector<SynthTensor> tensors;
};

// "llama-1b", "smollm-135m", ..
std::vector<std::string_view> SynthShapes();
// kInvalid: no such shape, with the list.
Result<SynthModel> NamedShape(std::string_view name);
// That of a header (of a file, or of a vt.model/1 document), with the types of its tensors.
// kInvalid: it says no architecture or number of layers.
Result<SynthModel> ShapeOf(const GgufFile& file);

// Whether converters give a tensor of that name and number of dimensions a block type: matrices of
// weights, but for routers, convolutions, learnt positions and the like, which are small and whose
// errors weigh more.
bool IsQuantisable(std::string_view name, std::size_t dims);

// Leaves out all layers from `layers` on. kInvalid: more than there are.
Status CutLayers(SynthModel& model, std::int64_t layers);

// Gives the tensors types: "as-is"; an element type for all matrices ("q8_0"); or "q4_k_m": q4_k,
// and q6_k for the output (the embedding, where it is used for the output too) and, in the first
// and last eighth of the layers and every third between, for attn_v and ffn_down. What is not
// IsQuantisable is f32. A type whose blocks do not divide a row gives way: q4_k to q5_0, q6_k and
// others to q8_0, and that to f16. kInvalid: not such a name.
Status SetTypes(SynthModel& model, std::string_view type);

// Values as GGUF encodes them.
std::string EncodedU32(std::uint32_t value);
std::string EncodedU64(std::uint64_t value);
std::string EncodedF32(float value);
std::string EncodedText(std::string_view text);
std::string EncodedTexts(const std::vector<std::string>& texts);  // an array
std::string EncodedI32s(const std::vector<std::int32_t>& values);
std::string EncodedValue(const GgufValue& value);

}  // namespace vt
