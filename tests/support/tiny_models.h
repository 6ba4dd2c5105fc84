// The small models with random weights whose logits somebody else computed: NAME.gguf and
// NAME.json, where TinyPath finds them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/test_files.h"

namespace vt::test {

inline constexpr const char* kTinyModels[] = {
    "afmoe-moe",           "bailingmoe2-moe",  "cohere2-dense",      "command-r-dense",
    "deepseek-moe",        "deepseek2-moe",    "deepseek2-yarn",     "deepseek32-moe",
    "dots1-moe",           "ernie4_5-moe-moe", "exaone4-dense",      "gemma-dense",
    "gemma2-dense",        "gemma3-dense",     "gemma3-rope-linear", "gemma4-26b",
    "gemma4-e4b",          "glm-dsa-moe",      "glm4-dense",         "glm4moe-moe",
    "gpt-oss-moe",         "gpt2-dense",       "granite-dense",      "granite-moe",
    "granitehybrid-dense", "granitemoe-dense", "granitemoe-moe",     "grok-moe",
    "hunyuan-dense-dense", "hunyuan-moe-moe",  "internlm2-dense",    "lfm2-dense",
    "lfm2moe-moe",         "llama-dense",      "llama-moe",          "llama-rope-freqs",
    "llama-rope-linear",   "llama4-moe",       "mamba2-dense",       "mimo2-moe",
    "minicpm3-dense",      "minimax-m2-moe",   "mistral3-dense",     "mistral3-moe",
    "mistral4-moe",        "nemotron_h-dense", "olmo2-dense",        "olmoe-moe",
    "phi3-dense",          "phimoe-moe",       "qwen2-dense",        "qwen2-yarn",
    "qwen2moe-moe",        "qwen3-dense",      "qwen35-dense",       "qwen35moe-moe",
    "qwen3moe-moe",        "qwen3next-moe",    "seed_oss-dense",     "smallthinker-moe",
    "smollm3-dense",       "stablelm-dense",   "starcoder2-dense",   "arcee-dense",
    "ernie4_5-dense",      "exaone-dense",
};
// So many, the first, are in tests/data/tiny.tar.xz; the others in tests/data/tiny-more.
inline constexpr std::size_t kTinyArchived = 63;

inline std::vector<std::string> TinyModelPaths() {
  std::vector<std::string> paths;
  for (const char* name : kTinyModels) paths.push_back(TinyPath(std::string(name) + ".gguf"));
  return paths;
}

// The oracle ran with room for 512 positions, which selects the long-context factors of these.
inline std::uint64_t TinyContext(std::string_view name) {
  const bool long_factors =
      name == "phi3-dense" || name == "phimoe-moe" || name == "minicpm3-dense";
  return long_factors ? 512 : 256;
}

// A name that a test may have.
inline std::string TestName(std::string_view model) {
  std::string name(model);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace vt::test
