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

Symbol MergeTable::AddExtra(const Vocabulary& vocabulary, std::string_view text) {
  const std::uint32_t extra = extras_.Find(text);
  return vocabulary.size() + (extra == StringTable::kMissing ? extras_.Append(text) : extra);
}

void MergeTable::Insert(Symbol left, Symbol right, const Merge& merge) {
  const std::uint64_t key = Key(left, right);
  std::size_t i = Place(key);
  while (slots_[i].key != kEmpty && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
  if (slots_[i].key == kEmpty) slots_[i] = {key, merge};  // of equal pairs the first counts
}

// The two parts of each merge, one after the other.
Status MergeTable::Parse(const GgufFile& file, const GgufValue& merges,
                         std::vector<std::string_view>& parts) {
  parts.reserve(merges.count * 2);
  for (std::size_t rank = 0; rank < merges.count; ++rank) {
    const std::string_view text = (*merges.strings)[rank];
    // The first part may itself begin with a space.
    const std::size_t space = text.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == text.size()) {
      return BadKey(file, kMerges,
                    "element " + std::to_string(rank) + " is " + Quoted(text) +
                        " (want two parts with a space between them)");
    }
    parts.push_back(text.substr(0, space));
    parts.push_back(text.substr(space + 1));
  }
  return {};
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
  std::vector<std::string_view> parts;
  VT_RETURN_IF_ERROR(Parse(file, *merges, parts));
  std::vector<TokenId> ids(parts.size());
  vocabulary.FindOrdinary(parts, ids);

  MergeTable table;
  const std::size_t slots = std::bit_ceil(static_cast<std::size_t>(merges->count) * 2 + 2);
  table.slots_.resize(slots);
  table.shift_ = 64 - std::countr_zero(slots);
  const auto symbol = [&](TokenId id, std::string_view text) {
    return id != kNoToken ? static_cast<Symbol>(id) : table.AddExtra(vocabulary, text);
  };
  std::string whole;
  TokenId last = 0;
  for (std::uint32_t rank = 0; rank < merges->count; ++rank) {
    const std::size_t i = std::size_t{rank} * 2;
    whole.assign(parts[i]).append(parts[i + 1]);
    // Tokens mostly come in the order of the merges that make them, several for one token together.
    TokenId result = last;
    if (!vocabulary.IsOrdinary(result, whole)) ++result;
    if (!vocabulary.IsOrdinary(result, whole)) result = vocabulary.FindOrdinary(whole);
    table.Insert(symbol(ids[i], parts[i]), symbol(ids[i + 1], parts[i + 1]),
                 {rank, symbol(result, whole)});
    if (result != kNoToken) last = result;
  }
  return table;
}

}  // namespace vt::tok
