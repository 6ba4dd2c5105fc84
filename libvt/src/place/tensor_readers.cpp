#include "place/tensor_readers.h"

#include <algorithm>
#include <charconv>

namespace vt {

std::vector<std::vector<TensorReader>> ReadersByTensor(const GgufFile& file,
                                                       const ModelSpec& spec) {
  std::vector<std::vector<TensorReader>> readers(file.tensors().size());
  const auto add = [&](int tensor, TensorReader reader) {
    std::vector<TensorReader>& list = readers[static_cast<std::size_t>(tensor)];
    const bool known = std::any_of(list.begin(), list.end(), [&](const TensorReader& other) {
      return other.layer == reader.layer && other.place == reader.place && other.use == reader.use;
    });
    if (!known) list.push_back(std::move(reader));
  };
  int matrix = -1;
  VisitWeights(spec, [&](int layer, const char* place, WeightUse use, const WeightRef& ref) {
    if (use == WeightUse::kMatrix) matrix = ref.tensor;
    add(ref.tensor, {layer, place, use, use == WeightUse::kBias ? matrix : -1, false});
    if (ref.scales >= 0) add(ref.scales, {layer, place, WeightUse::kFloats, ref.tensor, true});
  });
  return readers;
}

std::string PlaceText(int layer, const std::string& place) {
  return layer < 0 ? place : "blk." + std::to_string(layer) + "." + place;
}

PartOfPlace ParsePlace(std::string_view text) {
  constexpr std::string_view kLayer = "blk.";
  int layer = -1;
  if (text.starts_with(kLayer)) {
    const std::string_view rest = text.substr(kLayer.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
    if (error != std::errc() || end == rest.data() + rest.size() || *end != '.') {
      return {PartOf(-1, text), -1};
    }
    text = rest.substr(static_cast<std::size_t>(end - rest.data()) + 1);
  }
  return {PartOf(layer, text), layer};
}

std::string PartText(const PartOfPlace& part) {
  std::string text(NameOf(part.part));
  if (part.layer >= 0) text += " of layer " + std::to_string(part.layer);
  return text;
}

}  // namespace vt
