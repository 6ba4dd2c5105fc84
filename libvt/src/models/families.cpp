// The list of families: a new one is one line here.
#include <algorithm>

#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {

#define VT_FAMILIES(X)   \
  X(Mamba2Family)        \
  X(GraniteHybridFamily) \
  X(NemotronHFamily)     \
  X(NemotronHMoeFamily)  \
  X(Lfm2Family)          \
  X(Lfm2MoeFamily)       \
  X(Qwen3NextFamily)     \
  X(Qwen35Family)        \
  X(Qwen35MoeFamily)     \
  X(LlamaFamily)         \
  X(Mistral3Family)      \
  X(SmolLm3Family)       \
  X(GraniteFamily)       \
  X(Qwen2Family)         \
  X(Qwen3Family)         \
  X(GemmaFamily)         \
  X(Gemma2Family)        \
  X(Gemma3Family)        \
  X(Phi3Family)          \
  X(Olmo2Family)         \
  X(Exaone4Family)       \
  X(StableLmFamily)      \
  X(StarCoder2Family)    \
  X(Gpt2Family)          \
  X(CommandRFamily)      \
  X(Cohere2Family)       \
  X(InternLm2Family)     \
  X(SeedOssFamily)       \
  X(Glm4Family)          \
  X(HunyuanDenseFamily)  \
  X(HunyuanMoeFamily)    \
  X(Qwen2MoeFamily)      \
  X(Qwen3MoeFamily)      \
  X(OlmoeFamily)         \
  X(PhiMoeFamily)        \
  X(GraniteMoeFamily)    \
  X(DeepSeekFamily)      \
  X(Dots1Family)         \
  X(BailingMoe2Family)   \
  X(Ernie45MoeFamily)    \
  X(Glm4MoeFamily)       \
  X(MiniMaxM2Family)     \
  X(SmallThinkerFamily)  \
  X(GptOssFamily)        \
  X(MiMo2Family)         \
  X(AfMoeFamily)         \
  X(Llama4Family)        \
  X(GrokFamily)          \
  X(MiniCpm3Family)      \
  X(Gemma4Family)        \
  X(DeepSeek2Family)     \
  X(Mistral4Family)      \
  X(DeepSeek32Family)    \
  X(GlmDsaFamily)        \
  X(ArceeFamily)         \
  X(Ernie45Family)       \
  X(ExaoneFamily)

#define VT_DECLARE(name) Family name();
VT_FAMILIES(VT_DECLARE)
#undef VT_DECLARE

std::span<const Family> Families() {
#define VT_ENTRY(name) name(),
  static const Family families[] = {VT_FAMILIES(VT_ENTRY)};
#undef VT_ENTRY
  return families;
}

std::vector<std::string_view> KnownArchitectures() {
  std::vector<std::string_view> names;
  for (const Family& family : Families()) names.push_back(family.architecture);
  std::sort(names.begin(), names.end());
  return names;
}

Result<ModelSpec> ReadModelSpec(const GgufFile& file) {
  VT_ASSIGN_OR_RETURN(const auto name, file.GetString("general.architecture"));
  if (!name) return CorruptError("key \"general.architecture\": missing");
  for (const Family& family : Families()) {
    if (family.architecture == *name) return SpecBuilder(file, family).Build();
  }
  std::string known;
  for (std::string_view one : KnownArchitectures()) {
    known += (known.empty() ? "" : ", ") + std::string(one);
  }
  return UnsupportedError("key \"general.architecture\": architecture \"" + std::string(*name) +
                          "\": not known (known: " + known + ")");
}

std::string_view NameOf(NormKind kind) { return kind == NormKind::kRms ? "rms" : "layer"; }

std::string_view NameOf(FfnActivation activation) {
  switch (activation) {
    case FfnActivation::kSilu:
      return "silu";
    case FfnActivation::kGelu:
      return "gelu";
    case FfnActivation::kRelu:
      return "relu";
    case FfnActivation::kReluSquared:
      return "relu_squared";
    case FfnActivation::kClampedSilu:
      break;
  }
  return "clamped_silu";
}

}  // namespace vt
