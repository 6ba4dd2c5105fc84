// The paged KV cache: which page of which group holds a sequence's positions, and what pages hold
// that no sequence uses any more but a later prompt may.
//
// Every group (layers with the same window) has its own pages. A page of positions is shared by all
// sequences whose tokens are the same up to its end: keys and values depend on nothing else.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/device_memory.h"
#include "ops/args.h"
#include "plan/memory_plan.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

// The first position that a query at `position` sees: of all, of the newest `window`, or of its own
// stretch of `window`.
constexpr std::int64_t FirstSeen(std::int64_t window, bool chunked, std::int64_t position) {
  if (window == 0) return 0;
  if (chunked) return position / window * window;
  return position < window ? 0 : position - window + 1;
}

class KvCache {
 public:
  // Takes exactly the bytes of the plan's rows of cells from each device's memory (null: an unused
  // device's), which must outlive the cache.
  static Result<KvCache> Create(const EnginePlan& plan, const std::vector<DeviceMemory*>& memories);

  struct Sequence {
    std::vector<TokenId> tokens;                   // appended so far
    std::vector<std::vector<std::int32_t>> pages;  // [group][position / kPageCells]; -1: let go
    std::uint64_t chain_low = 0, chain_high = 0;   // digest of the tokens of all full pages
    std::size_t digested_pages = 0;
    std::size_t kept = 0;  // tokens that Truncate may not take back
  };

  // A sequence holding the longest prefix of `prompt` that is still held, in whole pages, never all
  // of the prompt.
  Sequence Open(std::span<const TokenId> prompt, bool reuse);
  void Close(Sequence& sequence);

  // How many of `wanted` tokens there are pages for.
  std::size_t Room(const Sequence& sequence, std::size_t wanted) const;

  // Gives pages to the positions of `tokens` that follow the sequence, and appends the tokens.
  // kNoMemory when all pages are in use.
  Status Append(Sequence& sequence, std::span<const TokenId> tokens);

  // Takes back the tokens after the first `length`, all of which were appended since Publish or
  // Truncate came last; those before them are kept from now on. Lets go of pages as Publish does.
  Status Truncate(Sequence& sequence, std::size_t length);

  // The step that filled the last appended tokens is done: full pages may now be reused by others,
  // and pages that no window reaches any more are let go.
  void Publish(Sequence& sequence);

  // Of a layer that has cells of its own.
  KvCells Keys(int layer) const { return layers_[static_cast<std::size_t>(layer)].keys; }
  KvCells Values(int layer) const { return layers_[static_cast<std::size_t>(layer)].values; }
  KvCells Index(int layer) const { return layers_[static_cast<std::size_t>(layer)].index; }
  std::size_t groups() const { return groups_.size(); }
  // The first position that one at `position` sees.
  std::int64_t FirstVisible(std::size_t group, std::int64_t position) const {
    return FirstVisible(groups_[group], position);
  }
  std::uint64_t allocated_bytes(std::size_t device, std::string_view row) const;

 private:
  struct Page {
    int users = 0;
    // The published prefix that this page ends; 0, 0: none.
    std::uint64_t low = 0, high = 0;
    std::list<std::int32_t>::iterator idle;  // in idle_ when users is 0
  };
  struct LayerCells {
    KvCells keys, values, index;
  };
  struct Group {
    std::int64_t window = 0;
    bool chunked = false;
    std::vector<Page> pages;
    std::list<std::int32_t> idle;  // pages without users, the one let go longest ago first
    // Published prefix -> page.
    std::unordered_map<std::uint64_t, std::int32_t> published;
  };

  Result<std::int32_t> TakePage(Group& group);
  void Release(Group& group, std::int32_t page);
  void Acquire(Group& group, std::int32_t page);
  void LetGo(Sequence& sequence);
  static std::int64_t FirstVisible(const Group& group, std::int64_t position);
  static std::int32_t FindPage(const Group& group, std::uint64_t low, std::uint64_t high);

  struct RowCells {
    std::size_t device = 0;
    std::string_view row;
    Arena arena;
  };
  static Arena* FindArena(std::vector<RowCells>& rows, std::size_t device, std::string_view row);

  std::vector<RowCells> rows_;
  std::vector<LayerCells> layers_;
  std::vector<Group> groups_;
};

}  // namespace vt
