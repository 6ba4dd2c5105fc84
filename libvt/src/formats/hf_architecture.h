// How the models of a Hugging Face architecture become GGUF: keys and tensor names as tables, and a
// function for what tables cannot say.
//
// Sources: the model documentation of huggingface/transformers (config classes, parameter names)
// and llama.cpp's conversion scripts (which GGUF key and tensor each becomes). To add one: a file
// hf_<name>.cpp with its tables, and its line in hf_architectures.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hf_config.h"
#include "formats/hf_metadata.h"
#include "vt/status.h"

namespace vt {

// One number of config.json under a GGUF key.
struct HfKeyRow {
  enum class Type { kU32, kF32 };
  std::string_view hf;    // dotted path, see HfConfig
  std::string_view gguf;  // after the architecture and a dot
  Type type = Type::kU32;
  bool required = true;
};

enum class HfForm {
  kWhole,       // as it is
  kHeadRows,    // rows of query heads: halves of a head become pairs, see HfTensorRow
  kKvHeadRows,  // of key heads
  kExpert,      // of one expert; all of them make one tensor
  kKeysValues,  // the joint matrix of keys and values that heads make of a latent, see HfTensorRow
};

// One tensor. '#' stands for a number: the layer, then the expert. The GGUF name has the layer
// only.
//
// kHeadRows: these models rotate x[i] with x[i + d/2]; GGUF's llama rotates x[2i] with x[2i + 1].
// Row h*d + 2*i + s of the tensor is row h*d + s*d/2 + i of the file.
struct HfTensorRow {
  std::string_view hf;
  std::string_view gguf;
  HfForm form = HfForm::kWhole;
  // kExpert: rows with the same GGUF name are put one after the other inside each expert, in this
  // order. `apart` is the name where that cannot be: 128 x 128 scales that do not end at the seam.
  // kKeysValues: each head has key_rows rows, which become a matrix of the tensor, transposed, and
  // value_rows after them, which become one of the tensor `apart`.
  int slot = 0;
  std::string_view apart = {};
};

// A tensor of f32 that the folder does not store.
struct HfComputed {
  std::string name;
  std::vector<float> values;
};

// What an architecture's function reads and fills.
struct HfModel {
  const HfConfig& config;
  HfMetadata& metadata;
  std::vector<HfComputed> computed;
  std::uint64_t heads = 0, kv_heads = 0;       // for kHeadRows and kKvHeadRows
  std::uint64_t experts = 0;                   // for kExpert
  std::uint64_t key_rows = 0, value_rows = 0;  // of a head, for kKeysValues
  std::uint64_t more_layers = 0;               // that lie after num_hidden_layers
};

struct HfArchitecture {
  std::string_view gguf;                          // general.architecture
  std::span<const std::string_view> model_types;  // "model_type" of config.json
  std::span<const std::string_view> prefixes;     // what may lead tensor names, longest first
  std::span<const HfKeyRow> keys;
  std::span<const HfTensorRow> tensors;
  std::span<const std::string_view> skipped;  // beginnings of names that text does not need
  Status (*finish)(HfModel& model);           // the other keys and the computed tensors
};

std::span<const HfArchitecture* const> HfArchitectures();

// By text_config.model_type or model_type; kUnsupported lists those known.
Result<const HfArchitecture*> FindHfArchitecture(const HfConfig& config);

// Parts that architectures share.

// Head counts and sizes: attention.head_count(_kv), attention.key_length/value_length when head_dim
// is given, rope.dimension_count. Sets model.heads and model.kv_heads.
Status AddHeads(HfModel& model);
// rope.freq_base, rope.scaling.* and rope_freqs.weight (llama3) from rope_parameters, or from
// rope_theta and rope_scaling. Of the types default, linear, yarn and llama3; kUnsupported others.
Status AddRope(HfModel& model);
// kUnsupported unless the flag is absent or `wanted`.
Status CheckFlag(const HfConfig& config, std::string_view key, bool wanted);

}  // namespace vt
