// Which pairs of symbols merge, in which order, and into what.
//
// A symbol is a token, by its id, or a text that only merges mention, numbered after the tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/tokenizer/string_table.h"
#include "formats/tokenizer/vocabulary.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt::tok {

using Symbol = std::uint32_t;
inline constexpr Symbol kNoSymbol = 0xFFFFFFFFu;

struct Merge {
  std::uint32_t rank = 0;  // lower merges first
  Symbol result = kNoSymbol;
};

class MergeTable {
 public:
  // Reads tokenizer.ggml.merges; kCorrupt names it.
  static Result<MergeTable> Load(const GgufFile& file, const Vocabulary& vocabulary);

  const Merge* Find(Symbol left, Symbol right) const {
    if (slots_.empty() || left == kNoSymbol || right == kNoSymbol) return nullptr;
    const std::uint64_t key = Key(left, right);
    for (std::size_t i = Place(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return &slots_[i].merge;
      if (slots_[i].key == kEmpty) return nullptr;
    }
  }
  // kNoSymbol for a text that neither is an ordinary token nor takes part in a merge.
  Symbol SymbolOf(const Vocabulary& vocabulary, std::string_view text) const;

  // Texts that only merges mention.
  const StringTable& extras() const { return extras_; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };
  static std::uint64_t Key(Symbol left, Symbol right) {
    return (std::uint64_t{left} << 32) | right;
  }
  std::size_t Place(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
  }
  static Status Parse(const GgufFile& file, const GgufValue& merges,
                      std::vector<std::string_view>& parts);
  Symbol AddExtra(const Vocabulary& vocabulary, std::string_view text);
  void Insert(Symbol left, Symbol right, const Merge& merge);

  StringTable extras_;  // symbol: vocabulary size + index
  std::vector<Slot> slots_;
  int shift_ = 0;
};

}  // namespace vt::tok
