// Which ops read each tensor of a file, by their places in the model.
#pragma once

#include <string>
#include <vector>

#include "models/spec_weights.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {

struct TensorReader {
  int layer = -1;  // -1: outside the layers
  std::string place;
  WeightUse use = WeightUse::kMatrix;
  int matrix = -1;      // of a bias: the tensor of its matrix
  bool scales = false;  // read as the scales of that matrix
};

// By GgufFile::tensors(), in the order of the forward pass; empty: nothing reads it. A place stands
// once, although a fused tensor is read there in parts.
std::vector<std::vector<TensorReader>> ReadersByTensor(const GgufFile& file, const ModelSpec& spec);

// "blk.3.ffn_gate", "output".
std::string PlaceText(int layer, const std::string& place);

// The part of the model that a place so written belongs to, and its layer (-1: none).
struct PartOfPlace {
  ModelPart part = ModelPart::kInput;
  int layer = -1;
};
PartOfPlace ParsePlace(std::string_view text);
std::string PartText(const PartOfPlace& part);  // "ffn of layer 3", "output"

}  // namespace vt
