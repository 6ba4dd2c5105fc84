// The architectures that are read from Hugging Face folders; each is defined in hf_<name>.cpp.
#pragma once

#include "formats/hf_architecture.h"

namespace vt {

extern const HfArchitecture kHfDeepSeek2;
extern const HfArchitecture kHfDeepSeek32;
extern const HfArchitecture kHfGemma4;
extern const HfArchitecture kHfGlmDsa;
extern const HfArchitecture kHfLlama;
extern const HfArchitecture kHfQwen2;
extern const HfArchitecture kHfQwen3;
extern const HfArchitecture kHfQwen3Moe;

}  // namespace vt
