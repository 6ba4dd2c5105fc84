#include "engine/kv_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/row_arena.h"

namespace vt {
namespace {

struct Chain {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// The digest of a prefix that ends with this page of tokens, from the digest before it.
Chain Extend(const Chain& before, std::span<const TokenId> page) {
  std::array<std::byte, sizeof(Chain) + kPageCells * sizeof(TokenId)> bytes;
  std::memcpy(bytes.data(), &before, sizeof before);
  std::memcpy(bytes.data() + sizeof before, page.data(), page.size_bytes());
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), sizeof before + page.size_bytes());
  return {hash.low64 | 1, hash.high64};  // never 0, 0: that means "not published"
}

}  // namespace

Arena* KvCache::FindArena(std::vector<RowCells>& rows, std::size_t device, std::string_view row) {
  for (RowCells& cells : rows) {
    if (cells.device == device && cells.row == row) return &cells.arena;
  }
  return nullptr;
}

std::uint64_t KvCache::allocated_bytes(std::size_t device, std::string_view row) const {
  for (const RowCells& cells : rows_) {
    if (cells.device == device && cells.row == row) return cells.arena.taken();
  }
  return 0;
}

Result<KvCache> KvCache::Create(const EnginePlan& plan,
                                const std::vector<DeviceMemory*>& memories) {
  KvCache cache;
  for (std::size_t d = 0; d < memories.size(); ++d) {
    if (!memories[d]) continue;
    for (const char* row : kKvRows) {
      VT_ASSIGN_OR_RETURN(Arena arena,
                          RowArena(plan, plan.devices[d].device.id, row, *memories[d]));
      cache.rows_.push_back({d, row, std::move(arena)});
    }
  }
  for (const KvGroup& planned : plan.groups) {
    Group group;
    group.window = planned.window;
    group.chunked = planned.chunked;
    group.pages.resize(static_cast<std::size_t>(planned.pages));
    for (std::size_t i = 0; i < group.pages.size(); ++i) {
      group.pages[i].idle = group.idle.insert(group.idle.end(), static_cast<std::int32_t>(i));
    }
    cache.groups_.push_back(std::move(group));
  }
  for (std::size_t i = 0; i < plan.kv.size(); ++i) {
    const KvLayerBytes& layer = plan.kv[i];
    LayerCells& cells = cache.layers_.emplace_back();
    if (layer.group < 0) continue;
    const auto device = static_cast<std::size_t>(plan.MixerOf(static_cast<int>(i)));
    const std::int64_t count =
        plan.groups[static_cast<std::size_t>(layer.group)].pages * kPageCells;
    const auto take = [&](const char* row, std::uint64_t cell_bytes) {
      KvCells out;
      out.type = plan.options.kv_type;
      out.cell_bytes = static_cast<std::int64_t>(cell_bytes);
      if (Arena* arena = FindArena(cache.rows_, device, row)) {
        out.data = arena->Take(static_cast<std::uint64_t>(count) * cell_bytes);
      }
      return out;
    };
    cells = {take(layer.row, layer.key_cell), take(layer.row, layer.value_cell),
             take(kKvIndexer, layer.index_cell)};
  }
  for (const RowCells& cells : cache.rows_) {
    VT_RETURN_IF_ERROR(CheckUsedUp(cells.arena, cells.row.data()));
  }
  return cache;
}

std::int64_t KvCache::FirstVisible(const Group& group, std::int64_t position) {
  return FirstSeen(group.window, group.chunked, position);
}

std::int32_t KvCache::FindPage(const Group& group, std::uint64_t low, std::uint64_t high) {
  const auto found = group.published.find(low);
  if (found == group.published.end()) return -1;
  return group.pages[static_cast<std::size_t>(found->second)].high == high ? found->second : -1;
}

void KvCache::Acquire(Group& group, std::int32_t page) {
  Page& p = group.pages[static_cast<std::size_t>(page)];
  if (p.users++ == 0) group.idle.erase(p.idle);
}

void KvCache::Release(Group& group, std::int32_t page) {
  Page& p = group.pages[static_cast<std::size_t>(page)];
  if (--p.users > 0) return;
  // Pages that hold nothing of use are taken before those that do.
  const bool published = (p.low | p.high) != 0;
  p.idle = group.idle.insert(published ? group.idle.end() : group.idle.begin(), page);
}

Result<std::int32_t> KvCache::TakePage(Group& group) {
  if (group.idle.empty()) {
    return NoMemoryError("KV cache: all " + std::to_string(group.pages.size()) + " pages of " +
                         std::to_string(kPageCells) + " positions are in use");
  }
  const std::int32_t page = group.idle.front();
  Page& p = group.pages[static_cast<std::size_t>(page)];
  if ((p.low | p.high) != 0) {
    group.published.erase(p.low);
    p.low = p.high = 0;
  }
  Acquire(group, page);
  return page;
}

KvCache::Sequence KvCache::Open(std::span<const TokenId> prompt, bool reuse) {
  Sequence sequence;
  sequence.pages.resize(groups_.size());
  if (!reuse || prompt.empty()) return sequence;
  constexpr auto kCells = static_cast<std::size_t>(kPageCells);
  std::vector<Chain> chains;
  for (std::size_t end = kCells; end < prompt.size(); end += kCells) {
    chains.push_back(
        Extend(chains.empty() ? Chain() : chains.back(), prompt.subspan(end - kCells, kCells)));
  }
  // The longest prefix of which every group still has the pages that its next position will see.
  for (std::size_t count = chains.size(); count > 0; --count) {
    const auto next = static_cast<std::int64_t>(count * kCells);
    const auto held = [&](const Group& group) {
      for (auto i = static_cast<std::size_t>(FirstVisible(group, next) / kPageCells); i < count;
           ++i) {
        if (FindPage(group, chains[i].low, chains[i].high) < 0) return false;
      }
      return true;
    };
    if (!std::all_of(groups_.begin(), groups_.end(), held)) continue;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      const auto first = static_cast<std::size_t>(FirstVisible(group, next) / kPageCells);
      sequence.pages[g].assign(count, -1);
      for (std::size_t i = first; i < count; ++i) {
        const std::int32_t page = FindPage(group, chains[i].low, chains[i].high);
        Acquire(group, page);
        sequence.pages[g][i] = page;
      }
    }
    sequence.tokens.assign(prompt.begin(),
                           prompt.begin() + static_cast<std::ptrdiff_t>(count * kCells));
    sequence.chain_low = chains[count - 1].low;
    sequence.chain_high = chains[count - 1].high;
    sequence.digested_pages = count;
    sequence.kept = sequence.tokens.size();
    break;
  }
  return sequence;
}

void KvCache::Close(Sequence& sequence) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    // Last page first, so that of an unused prefix the tail is taken before the head.
    for (std::size_t i = sequence.pages[g].size(); i-- > 0;) {
      if (sequence.pages[g][i] >= 0) Release(groups_[g], sequence.pages[g][i]);
    }
    sequence.pages[g].clear();
  }
}

std::size_t KvCache::Room(const Sequence& sequence, std::size_t wanted) const {
  std::size_t room = wanted;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    const std::size_t most =
        (sequence.pages[g].size() + group.idle.size()) * static_cast<std::size_t>(kPageCells);
    room = std::min(room, most - std::min(most, sequence.tokens.size()));
  }
  return room;
}

Status KvCache::Append(Sequence& sequence, std::span<const TokenId> tokens) {
  const auto end = static_cast<std::int64_t>(sequence.tokens.size() + tokens.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    std::vector<std::int32_t>& pages = sequence.pages[g];
    while (static_cast<std::int64_t>(pages.size()) * kPageCells < end) {
      VT_ASSIGN_OR_RETURN(const std::int32_t page, TakePage(group));
      pages.push_back(page);
    }
  }
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  return {};
}

void KvCache::LetGo(Sequence& sequence) {
  const auto kept = static_cast<std::int64_t>(sequence.kept);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    std::vector<std::int32_t>& pages = sequence.pages[g];
    const auto first = static_cast<std::size_t>(FirstVisible(group, kept) / kPageCells);
    for (std::size_t i = 0; i < std::min(first, pages.size()); ++i) {
      if (pages[i] < 0) continue;
      Release(group, pages[i]);
      pages[i] = -1;
    }
  }
}

Status KvCache::Truncate(Sequence& sequence, std::size_t length) {
  constexpr auto kCells = static_cast<std::size_t>(kPageCells);
  if (length > sequence.tokens.size() || length < sequence.kept) {
    return InternalError("truncate: to " + std::to_string(length) + " of " +
                         std::to_string(sequence.tokens.size()) + " tokens, of which " +
                         std::to_string(sequence.kept) + " are kept");
  }
  sequence.tokens.resize(length);
  sequence.kept = length;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::vector<std::int32_t>& pages = sequence.pages[g];
    while (pages.size() > (length + kCells - 1) / kCells) {
      if (pages.back() >= 0) Release(groups_[g], pages.back());
      pages.pop_back();
    }
  }
  LetGo(sequence);
  return {};
}

void KvCache::Publish(Sequence& sequence) {
  constexpr auto kCells = static_cast<std::size_t>(kPageCells);
  sequence.kept = sequence.tokens.size();
  while ((sequence.digested_pages + 1) * kCells <= sequence.tokens.size()) {
    const std::size_t index = sequence.digested_pages++;
    const Chain chain = Extend({sequence.chain_low, sequence.chain_high},
                               std::span(sequence.tokens).subspan(index * kCells, kCells));
    sequence.chain_low = chain.low;
    sequence.chain_high = chain.high;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::int32_t page = sequence.pages[g][index];
      if (page < 0 || !groups_[g].published.try_emplace(chain.low, page).second) continue;
      groups_[g].pages[static_cast<std::size_t>(page)].low = chain.low;
      groups_[g].pages[static_cast<std::size_t>(page)].high = chain.high;
    }
  }
  LetGo(sequence);
}

}  // namespace vt
