// Kinds of damage to a golden and to a model, each in one place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {

// Spoils a document, or its text; false where it has nothing of the kind to spoil.
struct GoldenDamage {
  std::string what;
  std::function<bool(nlohmann::ordered_json& document)> edit;  // one of the two
  std::function<std::string(const std::string& text)> cut;
};
std::vector<GoldenDamage> GoldenDamages();

// How often a run chose each expert of each layer.
using ExpertUse = std::map<int, std::map<std::int32_t, std::size_t>>;

// A bit of a block, a number of a tensor.
struct ModelDamage {
  std::string what;
  struct Byte {
    std::uint32_t shard = 0;
    std::uint64_t offset = 0;  // in the shard's file
    std::uint8_t mask = 0;     // the bits that turn over
  };
  std::vector<Byte> bytes;
  // A bit that is too small to show in the logits: only a digest of all bytes can tell.
  bool needs_digest = false;
  // A scale that a norm takes out again: only a checkpoint of this layer's experts can tell.
  std::optional<int> needs_checkpoint;
};
// `golden` says which tokens are read, `use` which experts: what is never read could be spoilt
// unseen.
std::vector<ModelDamage> ModelDamages(const GgufFile& file, const ModelSpec& spec,
                                      const Golden& golden, const ExpertUse& use);

}  // namespace vt
