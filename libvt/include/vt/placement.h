// Where each part of a model runs and where each tensor lies.
//
// A layer has three parts with a device each. What runs on a device has its norms, biases, cells
// and state there. A matrix lies where the product with it runs: with its part, unless it is placed
// elsewhere, in which case that one product runs there and its operands cross.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vt {

enum class ModelPart { kInput, kMixer, kFfn, kExperts, kOutput };
std::string_view NameOf(ModelPart part);  // "input", "mixer", "ffn", "experts", "output"

// Indices into Placement::devices.
struct LayerPlacement {
  int mixer = 0;    // attention or recurrence, with its cells or state
  int ffn = 0;      // dense feed-forward, router, shared expert, the layer's own embedding
  int experts = 0;  // products of the routed experts and their weighted sum
  // So many of the experts are on their device at a time, in slots that they are copied to when
  // rows choose them; 0: all are held. Only off the host, where all their matrices lie as the file
  // has them.
  std::int64_t expert_slots = 0;
  bool operator==(const LayerPlacement&) const = default;
};

// How the device of a tensor holds its matrix.
enum class Held { kKept, kExpanded };  // in the file's encoding; decoded to bf16 at the load

struct Placement {
  std::vector<std::string> devices;  // ids, each once, at least one
  int input = 0;                     // embeddings, and what is made of them
  int output = 0;                    // last norm, logits
  std::vector<LayerPlacement> layers;
  // By GgufFile::tensors(): of a matrix, the device that multiplies with it (or looks rows up); -1:
  // read as f32 values by its parts, or not at all.
  std::vector<int> tensors;
  std::vector<Held> held;  // by GgufFile::tensors()
};

}  // namespace vt
