#include "bench/synth_shape.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/json_writer.h"
#include "cpu/quants/dequantize.h"

namespace vt {
namespace {

// Decoders of the Llama kind; sources: the models' config.json.
struct NamedGeometry {
  std::string_view name, title, architecture;
  std::uint32_t layers, width, heads, kv_heads, head_dim, ffn, vocab, context;
  float rope_base, eps;
  bool tied, qk_norm;
};
constexpr NamedGeometry kShapes[] = {
    {"llama-1b", "Llama 3.2 1B", "llama", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 500000, 1e-5f,
     true, false},
    {"llama-8b", "Llama 3.1 8B", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 500000,
     1e-5f, false, false},
    {"qwen3-0.6b", "Qwen3 0.6B", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1000000, 1e-6f,
     true, true},
    {"smollm-135m", "SmolLM2 135M", "llama", 30, 576, 9, 3, 64, 1536, 49152, 8192, 100000, 1e-5f,
     true, false},
    {"tiny", "Tiny", "llama", 2, 256, 4, 2, 64, 512, 512, 2048, 10000, 1e-5f, true, false},
};

template <class T>
std::string Raw(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// The layer of "blk.12.attn_q.weight"; nothing for a tensor outside the layers.
std::optional<std::int64_t> LayerOf(std::string_view name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  name.remove_prefix(4);
  std::int64_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  return layer;
}

std::string EncodedScalar(const GgufValue& value) {
  switch (value.type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return Raw(static_cast<std::uint8_t>(value.bits));
    case GgufType::kU16:
    case GgufType::kI16:
      return Raw(static_cast<std::uint16_t>(value.bits));
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return Raw(static_cast<std::uint32_t>(value.bits));
    default:
      return Raw(value.bits);
  }
}

std::size_t ElementBytes(GgufType type) {
  GgufValue one;
  one.type = type;
  return EncodedScalar(one).size();
}

std::string ArrayHead(GgufType type, std::uint64_t count) {
  return EncodedU32(static_cast<std::uint32_t>(type)) + EncodedU64(count);
}

DType Fitting(DType wanted, std::uint64_t cols) {
  if (cols % InfoOf(wanted).block == 0) return wanted;
  const DType next = wanted == DType::kQ4_K ? DType::kQ5_0 : DType::kQ8_0;
  return cols % InfoOf(next).block == 0 ? next : DType::kF16;
}

}  // namespace

std::string EncodedU32(std::uint32_t value) { return Raw(value); }
std::string EncodedU64(std::uint64_t value) { return Raw(value); }
std::string EncodedF32(float value) { return Raw(value); }
std::string EncodedText(std::string_view text) { return EncodedU64(text.size()).append(text); }
std::string EncodedTexts(const std::vector<std::string>& texts) {
  std::string out = ArrayHead(GgufType::kString, texts.size());
  for (const std::string& text : texts) out += EncodedText(text);
  return out;
}
std::string EncodedI32s(const std::vector<std::int32_t>& values) {
  std::string out = ArrayHead(GgufType::kI32, values.size());
  for (const std::int32_t value : values) out += Raw(value);
  return out;
}

std::string EncodedValue(const GgufValue& value) {
  if (value.type == GgufType::kString) return EncodedText(value.text);
  if (!value.is_array()) return EncodedScalar(value);
  std::string out = ArrayHead(value.element_type, value.count);
  if (value.element_type == GgufType::kString) {
    for (const std::string_view text : *value.strings) out += EncodedText(text);
    return out;
  }
  return out.append(reinterpret_cast<const char*>(value.data),
                    static_cast<std::size_t>(value.count) * ElementBytes(value.element_type));
}

bool IsQuantisable(std::string_view name, std::size_t dims) {
  if (dims < 2 || !name.ends_with(".weight")) return false;
  constexpr std::string_view kKept[] = {
      "norm",       "ffn_gate_inp",   "position_embd",       "token_types",
      "ssm_conv1d", "shortconv.conv", "per_layer_model_proj"};
  return std::none_of(std::begin(kKept), std::end(kKept), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

std::vector<std::string_view> SynthShapes() {
  std::vector<std::string_view> names;
  for (const NamedGeometry& shape : kShapes) names.push_back(shape.name);
  return names;
}

Result<SynthModel> NamedShape(std::string_view name) {
  const auto shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                  [&](const NamedGeometry& one) { return one.name == name; });
  if (shape == std::end(kShapes)) {
    std::string known;
    for (const std::string_view one : SynthShapes()) {
      known.append(known.empty() ? "" : ", ").append(one);
    }
    return InvalidError("shape \"" + ValidUtf8(name) + "\": not known (known: " + known +
                        "; or a file: a GGUF model, or what vt-run --describe prints)");
  }
  const NamedGeometry& g = *shape;
  SynthModel model{std::string(g.title), std::string(g.architecture), g.layers, {}, {}};
  const auto u32 = [&](const char* key, std::uint32_t value) {
    model.keys.push_back({model.architecture + "." + key, GgufType::kU32, EncodedU32(value)});
  };
  const auto f32 = [&](const char* key, float value) {
    model.keys.push_back({model.architecture + "." + key, GgufType::kF32, EncodedF32(value)});
  };
  model.keys.push_back(
      {"general.architecture", GgufType::kString, EncodedText(model.architecture)});
  model.keys.push_back(
      {"general.name", GgufType::kString, EncodedText(model.name + ", random weights")});
  u32("block_count", g.layers);
  u32("context_length", g.context);
  u32("embedding_length", g.width);
  u32("feed_forward_length", g.ffn);
  u32("attention.head_count", g.heads);
  u32("attention.head_count_kv", g.kv_heads);
  u32("attention.key_length", g.head_dim);
  u32("attention.value_length", g.head_dim);
  u32("rope.dimension_count", g.head_dim);
  u32("vocab_size", g.vocab);
  f32("rope.freq_base", g.rope_base);
  f32("attention.layer_norm_rms_epsilon", g.eps);
  const auto tensor = [&](std::string full, std::vector<std::uint64_t> dims) {
    model.tensors.push_back({std::move(full) + ".weight", std::move(dims), DType::kF32});
  };
  const std::uint64_t q = std::uint64_t{g.heads} * g.head_dim;
  const std::uint64_t kv = std::uint64_t{g.kv_heads} * g.head_dim;
  tensor("token_embd", {g.width, g.vocab});
  tensor("output_norm", {g.width});
  if (!g.tied) tensor("output", {g.width, g.vocab});
  for (std::uint32_t i = 0; i < g.layers; ++i) {
    const std::string at = "blk." + std::to_string(i) + ".";
    tensor(at + "attn_norm", {g.width});
    tensor(at + "attn_q", {g.width, q});
    tensor(at + "attn_k", {g.width, kv});
    tensor(at + "attn_v", {g.width, kv});
    if (g.qk_norm) {
      tensor(at + "attn_q_norm", {g.head_dim});
      tensor(at + "attn_k_norm", {g.head_dim});
    }
    tensor(at + "attn_output", {q, g.width});
    tensor(at + "ffn_norm", {g.width});
    tensor(at + "ffn_gate", {g.width, g.ffn});
    tensor(at + "ffn_up", {g.width, g.ffn});
    tensor(at + "ffn_down", {g.ffn, g.width});
  }
  return model;
}

Result<SynthModel> ShapeOf(const GgufFile& file) {
  SynthModel model;
  VT_ASSIGN_OR_RETURN(const auto architecture, file.GetString("general.architecture"));
  if (!architecture) return InvalidError("shape: the header names no general.architecture");
  model.architecture = *architecture;
  VT_ASSIGN_OR_RETURN(const auto name, file.GetString("general.name"));
  model.name = name ? *name : *architecture;
  VT_ASSIGN_OR_RETURN(const auto layers, file.GetU64(model.architecture + ".block_count"));
  if (!layers) {
    return InvalidError("shape: the header has no key " + model.architecture + ".block_count");
  }
  model.layers = static_cast<std::int64_t>(*layers);
  for (const auto& [key, value] : file.metadata()) {
    // Weights of this file are not those that were split, or of that digest.
    if (key.starts_with("tokenizer.") || key.starts_with("split.") || key == "general.alignment" ||
        key == "general.file_type") {
      continue;
    }
    model.keys.push_back({std::string(key), value.type, EncodedValue(value)});
  }
  for (const GgufTensor& tensor : file.tensors()) {
    model.tensors.push_back({std::string(tensor.name), tensor.dims, tensor.type});
  }
  return model;
}

Status CutLayers(SynthModel& model, std::int64_t layers) {
  if (layers < 1 || layers > model.layers) {
    return InvalidError("--layers " + std::to_string(layers) + ": the shape has " +
                        std::to_string(model.layers) + " (allowed 1 to that)");
  }
  std::erase_if(model.tensors, [&](const SynthTensor& tensor) {
    return LayerOf(tensor.name).value_or(-1) >= layers;
  });
  const std::string count_key = model.architecture + ".block_count";
  for (SynthKey& key : model.keys) {
    if (key.name == count_key) {
      key.type = GgufType::kU32;
      key.bytes = EncodedU32(static_cast<std::uint32_t>(layers));
      continue;
    }
    if (key.type != GgufType::kArray || !key.name.starts_with(model.architecture + ".")) continue;
    // A value per layer: the first ones are kept.
    std::uint32_t type = 0;
    std::uint64_t count = 0;
    std::memcpy(&type, key.bytes.data(), sizeof type);
    std::memcpy(&count, key.bytes.data() + sizeof type, sizeof count);
    if (count != static_cast<std::uint64_t>(model.layers)) continue;
    const GgufType element = static_cast<GgufType>(type);
    if (element == GgufType::kString || element == GgufType::kArray) continue;
    const std::size_t head = sizeof type + sizeof count;
    const std::size_t kept = static_cast<std::size_t>(layers) * ElementBytes(element);
    key.bytes =
        ArrayHead(element, static_cast<std::uint64_t>(layers)) + key.bytes.substr(head, kept);
  }
  model.layers = layers;
  return {};
}

Status SetTypes(SynthModel& model, std::string_view name) {
  std::string type(name);
  for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (type == "as-is") return {};
  const bool mix = type == "q4_k_m";
  const DTypeInfo* info = mix ? FindDType("q4_k") : FindDType(type);
  if (!info || static_cast<std::uint32_t>(info->type) >= kFirstOwnDType ||
      !FindDequantize(info->type)) {
    return InvalidError("--type \"" + ValidUtf8(name) +
                        "\": not q4_k_m, as-is, or a weight type of GGUF files (q8_0, q4_k, f16)");
  }
  const bool tied = std::none_of(model.tensors.begin(), model.tensors.end(),
                                 [](const auto& one) { return one.name == "output.weight"; });
  for (SynthTensor& tensor : model.tensors) {
    DType wanted = info->type;
    if (!IsQuantisable(tensor.name, tensor.dims.size())) {
      wanted = DType::kF32;
    } else if (mix) {
      const std::int64_t layer = LayerOf(tensor.name).value_or(0), eighth = model.layers / 8;
      const bool more =
          layer < eighth || layer >= model.layers - eighth || (layer - eighth) % 3 == 2;
      const bool chosen = tensor.name.find("attn_v.") != std::string::npos ||
                          tensor.name.find("ffn_down") != std::string::npos;
      const bool output = tensor.name == (tied ? "token_embd.weight" : "output.weight");
      if (output || (chosen && more)) wanted = DType::kQ6_K;
    }
    tensor.type = Fitting(wanted, tensor.dims[0]);
  }
  return {};
}

}  // namespace vt
