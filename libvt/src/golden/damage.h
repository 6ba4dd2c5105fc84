// Kinds of damage to a golden and to a model, each in one place.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "vt/gguf.h"

namespace vt {

// Spoils a document, or its text; false where it has nothing of the kind to spoil.
struct GoldenDamage {
  std::string what;
  std::function<bool(nlohmann::ordered_json& document)> edit;  // one of the two
  std::function<std::string(const std::string& text)> cut;
};
std::vector<GoldenDamage> GoldenDamages();

// One bit of one block of one tensor.
struct ModelDamage {
  std::string what;
  std::uint32_t shard = 0;
  std::uint64_t offset = 0;  // in the shard's file
  std::uint8_t mask = 0;
  // The bit is too small to show in the logits: only a digest of all bytes can tell.
  bool needs_digest = false;
};
// `golden` says which tokens are read.
std::vector<ModelDamage> ModelDamages(const GgufFile& file, const Golden& golden);

}  // namespace vt
