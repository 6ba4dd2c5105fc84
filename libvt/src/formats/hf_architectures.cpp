#include "formats/hf_architectures.h"

#include <algorithm>

#include "formats/file_error.h"
#include "formats/hf_architecture.h"

namespace vt {
namespace {

// By GGUF name.
constexpr const HfArchitecture* kArchitectures[] = {&kHfDeepSeek2, &kHfDeepSeek32, &kHfGemma4,
                                                    &kHfGlmDsa,    &kHfLlama,      &kHfQwen2,
                                                    &kHfQwen3,     &kHfQwen3Moe};

const HfArchitecture* Find(std::string_view model_type) {
  for (const HfArchitecture* architecture : kArchitectures) {
    const auto& types = architecture->model_types;
    if (std::find(types.begin(), types.end(), model_type) != types.end()) return architecture;
  }
  return nullptr;
}

}  // namespace

std::span<const HfArchitecture* const> HfArchitectures() { return kArchitectures; }

Result<const HfArchitecture*> FindHfArchitecture(const HfConfig& config) {
  VT_ASSIGN_OR_RETURN(const auto type, config.String("model_type"));
  if (!type) return config.Bad("model_type", "missing (want the name of an architecture)");
  if (const HfArchitecture* const found = Find(*type)) return found;
  std::string known;
  for (const HfArchitecture* architecture : kArchitectures) {
    for (const std::string_view name : architecture->model_types) {
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
  }
  return config.Unsupported("model_type", Quoted(*type) + " is not read from a folder (known: " +
                                              known + "); convert the model to GGUF");
}

}  // namespace vt
