// Which kind of tokenizer a tokenizer.json describes.
#pragma once

#include <string>
#include <vector>

#include "formats/hf_tokenizer_json.h"
#include "vt/status.h"

namespace vt {

struct HfTokenizerKind {
  std::string model;                  // tokenizer.ggml.model: "gpt2", "gemma4", "llama"
  std::vector<std::string> patterns;  // tokenizer.vt.split_patterns (not "llama")
  bool space_prefix = false;          // "llama": a space is put in front
  std::string bos, eos;               // the texts that go around a text, empty for none
};

// kUnsupported says which part is not known.
Result<HfTokenizerKind> FindHfTokenizerKind(const std::string& path, const HfTokenizerJson& json);

}  // namespace vt
