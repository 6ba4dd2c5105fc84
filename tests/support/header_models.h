// Models of real geometry whose weights are not there, by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/model_header.h"
#include "vt/gguf.h"

namespace vt::test {

// "glm-5"             glm-dsa, 78 layers and one that predicts ahead, context 202752, latent
//                     attention, an indexer in every layer; 1,809 tensors, q4_k_m
// "glm-5.2"           the same of context 1,048,576: 21 layers own an indexer, by the rule for
// files
//                     that do not say so; its tensors are in all of them
// "glm-5.3"           the same, the owners listed in the file; UD-IQ1_S: 228 towers of experts of
//                     six types
// "deepseek-v3"       deepseek2, 61 layers, latent cache; "deepseek-v3-expanded": an older file
//                     with attn_kv_b, whose cache holds the keys and values of all heads
// "gemma-4-26b"       30 layers, 25 windowed (1024, 8 x 256) and 5 full (2 x 512), experts beside
//                     a dense branch
// "gpt-oss-20b", "gpt-oss-120b"   every other layer windowed (128); mxfp4 experts with biases
// "qwen3-30b-a3b"     48 equal layers of 128 experts, q4_k
// "moe-48x928"        48 equal layers, 928 MiB of experts in each (512 of 512), 44.5 GiB
// "llama-8b", "llama-70b", "smollm-135m"   dense, q4_k_m
// "lfm2-350m"         attention in 6 of 16 layers, by an array of key heads
// "qwen3.6-27b"       gated delta nets, attention in every fourth of 64 layers, q4_k_m
// "unknown-arch"      an architecture that nobody knows, with the keys of a windowed decoder
//
// Everything but the last passes ReadModelSpec.
std::vector<std::string_view> HeaderModelNames();
ModelHeader HeaderOf(std::string_view name);  // to change, or to write with WriteSparse
inline GgufFile HeaderModel(std::string_view name) { return HeaderOf(name).Open(); }

// A decoder of equal layers: llama without experts, qwen3moe with.
struct EqualLayers {
  std::uint32_t layers = 48, width = 2048, heads = 32, kv_heads = 4, head_dim = 128;
  std::uint32_t ffn = 6144;                                 // without experts
  std::uint32_t experts = 128, used = 8, expert_ffn = 768;  // experts 0: dense
  std::uint32_t vocab = 151936, context = 40960;
  bool tied = false;
  DType matrices = DType::kQ4_K;
  DType gate = DType::kQ4_K, up = DType::kQ4_K, down = DType::kQ4_K;  // of the experts
};
ModelHeader EqualLayersHeader(std::string_view name, const EqualLayers& sizes);

}  // namespace vt::test
