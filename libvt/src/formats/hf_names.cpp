#include "formats/hf_names.h"

namespace vt {
namespace {

constexpr std::string_view kOtherEndings[] = {".input_scale", ".k_scale", ".v_scale",
                                              ".rotary_emb.inv_freq"};

}  // namespace

NamePattern PatternOf(std::string_view name) {
  NamePattern pattern;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    const bool number = !part.empty() && part.size() <= 9 &&
                        part.find_first_not_of("0123456789") == std::string_view::npos;
    if (number && pattern.count < 2) {
      std::uint64_t value = 0;
      for (const char c : part) value = value * 10 + static_cast<std::uint64_t>(c - '0');
      pattern.numbers[pattern.count++] = value;
      pattern.text += '#';
    } else {
      pattern.text += part;
    }
    if (dot == std::string_view::npos) return pattern;
    pattern.text += '.';
    name.remove_prefix(dot + 1);
  }
}

std::string Named(std::string_view gguf, std::uint64_t layer) {
  const std::size_t mark = gguf.find('#');
  if (mark == std::string_view::npos) return std::string(gguf);
  return std::string(gguf.substr(0, mark)) + std::to_string(layer) +
         std::string(gguf.substr(mark + 1));
}

bool SaysNothingOfWeights(std::string_view name) {
  for (const std::string_view ending : kOtherEndings) {
    if (name.ends_with(ending)) return true;
  }
  return false;
}

}  // namespace vt
