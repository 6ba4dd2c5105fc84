#include "formats/tokenizer/merge_table.h"

#include <bit>
#include <string>

#include "formats/file_error.h"

namespace vt::tok {
namespace {

constexpr std::string_view kMerges = "tokenizer.ggml.merges";

}  // namespace

Symbol MergeTable::SymbolOf(const Vocabulary& vocabulary, std::string_view text) const {
  if (const TokenId id = vocabulary.FindOrdinary(text); id != kNoToken) {
    return static_cast<Symbol>(id);
  }
  const std::uint32_t extra = extras_.Find(text);
  return extra == StringTable::kMissing ? kNoSymbol : vocabulary.size() + extra;
}

Symbol MergeTable::AddSymbol(const Vocabulary& vocabulary, std::string_view text) {
  const Symbol known = SymbolOf(vocabulary, text);
  return known != kNoSymbol ? known : vocabulary.size() + extras_.Append(text);
}

void MergeTable::Insert(Symbol left, Symbol right, const Merge& merge) {
  const std::uint64_t key = Key(left, right);
  std::size_t i = Place(key);
  while (slots_[i].key != kEmpty && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
  if (slots_[i].key == kEmpty) slots_[i] = {key, merge};  // of equal pairs the first counts
}

Result<MergeTable> MergeTable::Load(const GgufFile& file, const Vocabulary& vocabulary) {
  VT_ASSIGN_OR_RETURN(const GgufValue* merges, file.GetStringArray(kMerges));
  if (merges == nullptr) return BadKey(file, kMerges, "missing (want an array of strings)");
  constexpr std::uint64_t kMaxMerges = 0x3FFFFFFF;  // each adds three symbols at most
  if (merges->count > kMaxMerges) {
    return BadKey(file, kMerges,
                  std::to_string(merges->count) + " elements (want at most " +
                      std::to_string(kMaxMerges) + ")");
  }
  MergeTable table;
  const std::size_t slots = std::bit_ceil(static_cast<std::size_t>(merges->count) * 2 + 2);
  table.slots_.resize(slots);
  table.shift_ = 64 - std::countr_zero(slots);
  std::string whole;
  for (std::uint32_t rank = 0; rank < merges->count; ++rank) {
    const std::string_view text = (*merges->strings)[rank];
    // The first part may itself begin with a space.
    const std::size_t space = text.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == text.size()) {
      return BadKey(file, kMerges,
                    "element " + std::to_string(rank) + " is " + Quoted(text) +
                        " (want two parts with a space between them)");
    }
    const std::string_view first = text.substr(0, space), second = text.substr(space + 1);
    whole.assign(first).append(second);
    const Symbol left = table.AddSymbol(vocabulary, first);
    const Symbol right = table.AddSymbol(vocabulary, second);
    table.Insert(left, right, {rank, table.AddSymbol(vocabulary, whole)});
  }
  return table;
}

}  // namespace vt::tok
