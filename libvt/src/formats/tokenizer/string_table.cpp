#include "formats/tokenizer/string_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace vt::tok {
namespace {

std::uint32_t Hash(std::string_view text) {
  return static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size()));
}

}  // namespace

void StringTable::Reserve(std::size_t count, std::size_t bytes) {
  bytes_.reserve(bytes);
  starts_.reserve(count + 1);
  if (const std::size_t slots = std::bit_ceil(count * 2 + 2); slots > slots_.size()) Grow(slots);
}

void StringTable::Grow(std::size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  const std::size_t mask = slots - 1;
  for (const Slot& slot : old) {
    if (slot.id == kMissing) continue;
    std::size_t i = slot.hash & mask;
    while (slots_[i].id != kMissing) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

std::uint32_t StringTable::Append(std::string_view text) {
  const std::uint32_t id = size();
  bytes_.append(text);
  starts_.push_back(bytes_.size());
  if (text.empty()) return id;
  if ((static_cast<std::size_t>(id) + 1) * 2 > slots_.size()) {
    Grow(std::bit_ceil((static_cast<std::size_t>(id) + 1) * 4));
  }
  const std::uint32_t hash = Hash(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  for (; slots_[i].id != kMissing; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && this->text(slots_[i].id) == text) {
      all_differ_ = false;
      return id;
    }
  }
  slots_[i] = {hash, id};
  return id;
}

std::uint32_t StringTable::Find(std::string_view text) const {
  return slots_.empty() ? kMissing : FindHashed(text, Hash(text));
}

std::uint32_t StringTable::FindHashed(std::string_view text, std::uint32_t hash) const {
  if (text.empty()) return kMissing;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask; slots_[i].id != kMissing; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && this->text(slots_[i].id) == text) return slots_[i].id;
  }
  return kMissing;
}

void StringTable::FindMany(std::span<const std::string_view> texts,
                           std::span<std::uint32_t> ids) const {
  constexpr std::size_t kBatch = 32;
  if (slots_.empty()) {
    std::fill(ids.begin(), ids.end(), kMissing);
    return;
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t done = 0; done < texts.size(); done += kBatch) {
    const std::size_t count = std::min(kBatch, texts.size() - done);
    // Each stage asks for the memory that the next one reads.
    std::uint32_t hashes[kBatch];
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = Hash(texts[done + i]);
      __builtin_prefetch(&slots_[hashes[i] & mask]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t id = slots_[hashes[i] & mask].id;
      if (id != kMissing) __builtin_prefetch(&starts_[id]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t id = slots_[hashes[i] & mask].id;
      if (id != kMissing) __builtin_prefetch(&bytes_[starts_[id]]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      ids[done + i] = FindHashed(texts[done + i], hashes[i]);
    }
  }
}

}  // namespace vt::tok
