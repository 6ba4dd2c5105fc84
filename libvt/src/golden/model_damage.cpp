// Damage to a model's weights.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>

#include "golden/damage.h"

namespace vt {
namespace {

const GgufTensor* FirstOf(const GgufFile& file, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const GgufTensor* tensor = file.FindTensor(name)) return tensor;
  }
  return nullptr;
}

// The byte and bit that hold the highest bit of the exponent of the first scale (or number) of the
// block that begins at `begin`: its change makes a block's weights wildly different.
struct Bit {
  std::uint64_t byte = 0;
  std::uint8_t mask = 0;
};
std::optional<Bit> ScaleBit(DType type) {
  switch (type) {
    case DType::kF32:
      return Bit{3, 0x40};
    case DType::kF8_E4M3:
      return Bit{0, 0x40};
    case DType::kF16:
    case DType::kBF16:
      return Bit{1, 0x40};
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ8_0:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return Bit{1, 0x40};  // blocks begin with an f16 scale
    case DType::kQ6_K:
      return Bit{209, 0x40};  // and end with it
    default:
      return std::nullopt;
  }
}

// Where byte `byte` of a tensor lies; nothing where no file holds it.
std::optional<ModelDamage::Byte> PlaceOfByte(const GgufFile& file, const GgufTensor& tensor,
                                             std::uint64_t byte) {
  if (tensor.cut) return std::nullopt;  // bytes of the file are not bytes of the tensor
  ModelDamage::Byte place{tensor.shard, tensor.offset + byte, 0};
  for (const GgufTensorPart& part : tensor.parts) {
    if (byte < part.bytes) {
      place = {part.shard, part.offset + byte, 0};
      break;
    }
    byte -= part.bytes;
  }
  if (file.shards()[place.shard].computed) return std::nullopt;
  return place;
}

class Collector {
 public:
  explicit Collector(const GgufFile& file) : file_(file) {}

  // One bit that makes the first block of a row wildly different.
  void AddBit(std::string part, const GgufTensor* tensor, std::uint64_t row) {
    if (!tensor || row >= tensor->rows()) return;
    const std::optional<Bit> bit = ScaleBit(tensor->type);
    if (!bit) return;
    auto place = PlaceOfByte(file_, *tensor, row * (tensor->bytes / tensor->rows()) + bit->byte);
    if (!place) return;
    place->mask = bit->mask;
    ModelDamage damage;
    damage.what = "weights: one bit of " + std::move(part) + Named(*tensor);
    damage.bytes = {*place};
    all_.push_back(std::move(damage));
  }

  // The lowest bit of a byte near the end of a row.
  void AddLowestBit(const GgufTensor& tensor) {
    auto place = PlaceOfByte(file_, tensor, tensor.bytes / tensor.rows() - 4);
    if (!place) return;
    place->mask = 0x01;
    ModelDamage damage;
    damage.what = "weights: the lowest bit of a block's last byte" + Named(tensor);
    damage.bytes = {*place};
    damage.needs_digest = true;
    all_.push_back(std::move(damage));
  }

  // Numbers [begin, end) of an f32 or bf16 tensor become other ones.
  void AddNumbers(std::string what, const GgufTensor& tensor, std::uint64_t begin,
                  std::uint64_t end, const std::function<float(float)>& change,
                  std::optional<int> needs_checkpoint) {
    if (tensor.type != DType::kF32 && tensor.type != DType::kBF16) return;
    // A bf16 is the upper half of an f32.
    const std::size_t size = tensor.type == DType::kF32 ? 4 : 2;
    const std::size_t lower = sizeof(float) - size;
    ModelDamage damage;
    damage.what = "weights: " + std::move(what) + Named(tensor);
    damage.needs_checkpoint = needs_checkpoint;
    for (std::uint64_t i = begin; i < end; ++i) {
      float value = 0;
      std::array<std::byte, sizeof value> before{};
      std::array<std::byte, sizeof value> after{};
      file_.CopyRange(tensor, i * size, size, before.data() + lower);
      std::memcpy(&value, before.data(), sizeof value);
      value = change(value);
      std::memcpy(after.data(), &value, sizeof value);
      for (std::size_t b = 0; b < size; ++b) {
        auto place = PlaceOfByte(file_, tensor, i * size + b);
        if (!place) return;
        place->mask = static_cast<std::uint8_t>(before[lower + b] ^ after[lower + b]);
        if (place->mask != 0) damage.bytes.push_back(*place);
      }
    }
    if (!damage.bytes.empty()) all_.push_back(std::move(damage));
  }

  std::vector<ModelDamage> Take() { return std::move(all_); }

 private:
  static std::string Named(const GgufTensor& tensor) {
    return " (" + std::string(tensor.name) + ", " + std::string(NameOf(tensor.type)) + ")";
  }

  const GgufFile& file_;
  std::vector<ModelDamage> all_;
};

std::int32_t MostUsed(const std::map<std::int32_t, std::size_t>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void AddExperts(const GgufFile& file, const ModelSpec& spec, const ExpertUse& use,
                Collector& collector) {
  bool weights_done = false;
  for (const auto& [layer, counts] : use) {
    const MoeSpec& moe = spec.layers[static_cast<std::size_t>(layer)].moe;
    const std::int32_t expert = MostUsed(counts);
    const auto e = static_cast<std::uint64_t>(expert);
    const auto experts = static_cast<std::uint64_t>(moe.experts);
    const auto tensor_of = [&](const WeightRef& ref) {
      return &file.tensors()[static_cast<std::size_t>(ref.tensor)];
    };
    if (!weights_done) {
      const GgufTensor* down = tensor_of(moe.down.weight);
      collector.AddBit("expert " + std::to_string(expert), down, e * (down->rows() / experts));
      collector.AddBit("a router", tensor_of(moe.router.weight), e);
      weights_done = true;
    }
    if (!moe.expert_scale) continue;
    const GgufTensor& scales = *tensor_of(moe.expert_scale);
    const std::string of_expert = "the scale of expert " + std::to_string(expert);
    collector.AddNumbers(
        of_expert + " is doubled", scales, e, e + 1, [](float v) { return 2 * v; }, std::nullopt);
    collector.AddNumbers(
        "the scales of all experts are lost", scales, 0, experts, [](float) { return 1.0f; },
        std::nullopt);
    collector.AddNumbers(
        "the scales of all experts are tripled", scales, 0, experts, [](float v) { return 3 * v; },
        layer);
    return;
  }
}

}  // namespace

std::vector<ModelDamage> ModelDamages(const GgufFile& file, const ModelSpec& spec,
                                      const Golden& golden, const ExpertUse& use) {
  Collector collector(file);
  const TokenId first = golden.cases.front().prompt.front();
  collector.AddBit("the first token's embedding", file.FindTensor("token_embd.weight"),
                   static_cast<std::uint64_t>(first));
  collector.AddBit("an attention matrix",
                   FirstOf(file, {"blk.0.attn_v.weight", "blk.0.attn_qkv.weight"}), 0);
  collector.AddBit("a feed-forward matrix",
                   FirstOf(file, {"blk.0.ffn_down.weight", "blk.0.ffn_up.weight"}), 0);
  collector.AddBit("a norm", FirstOf(file, {"output_norm.weight", "blk.0.attn_norm.weight"}), 0);
  AddExperts(file, spec, use, collector);
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name.find("ffn_") == std::string_view::npos || tensor.rows() < 2) continue;
    collector.AddLowestBit(tensor);
    break;
  }
  return collector.Take();
}

}  // namespace vt
