// Names of tensors with '#' for their numbers, as the tables of architectures have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vt {

// A name with '#' for its first two numbers, and these.
struct NamePattern {
  std::string text;
  std::uint64_t numbers[2] = {};
  std::size_t count = 0;
};
NamePattern PatternOf(std::string_view name);

// The GGUF name with its '#' replaced.
std::string Named(std::string_view gguf, std::uint64_t layer);

// Scales of activations and of caches, which are not quantised here, and frequencies that follow
// from the configuration.
bool SaysNothingOfWeights(std::string_view name);

}  // namespace vt
