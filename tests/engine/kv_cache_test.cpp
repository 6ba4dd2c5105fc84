#include "engine/kv_cache.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace vt {
namespace {

// One group over everything and one over a window of 100, with pages for `sequences` of `context`.
EnginePlan Plan(std::int64_t context, std::int64_t sequences) {
  EnginePlan plan;
  plan.options.kv_type = DType::kF32;
  const std::int64_t pages = (context + kPageCells - 1) / kPageCells * sequences;
  plan.groups = {{0, false, {0}, pages}, {100, false, {1}, std::min(pages, sequences * 4 + 1)}};
  plan.kv = {{64, 64, 0, 0, kKvFull}, {64, 64, 0, 1, kKvWindow}};
  plan.placement.devices = {"cpu"};
  plan.placement.layers.resize(2);
  plan.devices.resize(1);
  plan.devices[0].device.id = "cpu";
  for (std::size_t g = 0; g < 2; ++g) {
    const auto bytes = static_cast<std::uint64_t>(plan.groups[g].pages * kPageCells) * 128;
    plan.rows.push_back({"cpu", plan.kv[g].row, bytes, 0});
  }
  return plan;
}

// Host memory, for as long as the program runs.
std::vector<DeviceMemory*> Memory() {
  static const std::unique_ptr<DeviceMemory> memory = OpenDeviceMemory(DeviceInfo{}).value();
  return {memory.get()};
}

std::vector<TokenId> Tokens(std::size_t count, TokenId first = 0) {
  std::vector<TokenId> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

void Feed(KvCache& cache, KvCache::Sequence& sequence, std::span<const TokenId> tokens,
          std::size_t chunk) {
  while (!tokens.empty()) {
    const std::size_t count = std::min(chunk, tokens.size());
    ASSERT_TRUE(cache.Append(sequence, tokens.first(count)).ok());
    cache.Publish(sequence);
    tokens = tokens.subspan(count);
  }
}

TEST(KvCache, TakesThePlannedBytes) {
  const EnginePlan plan = Plan(512, 2);
  const Result<KvCache> cache = KvCache::Create(plan, Memory());
  ASSERT_TRUE(cache.ok()) << cache.status().message();
  EXPECT_EQ(cache->allocated_bytes(0, kKvFull), plan.RowBytes(kKvFull));
  EXPECT_EQ(cache->allocated_bytes(0, kKvWindow), plan.RowBytes(kKvWindow));
}

TEST(KvCache, AWindowLetsPagesGo) {
  Result<KvCache> cache = KvCache::Create(Plan(512, 1), Memory());
  ASSERT_TRUE(cache.ok());
  KvCache::Sequence sequence = cache->Open({}, true);
  Feed(*cache, sequence, Tokens(500), 50);
  const auto held = [&](std::size_t group) {
    std::size_t count = 0;
    for (const std::int32_t page : sequence.pages[group]) count += page >= 0;
    return count;
  };
  EXPECT_EQ(held(0), 8u);
  EXPECT_LE(held(1), 4u);
  // Positions the next query sees: 401..500.
  for (std::size_t i = 401 / kPageCells; i <= 499 / kPageCells; ++i)
    EXPECT_GE(sequence.pages[1][i], 0);
}

// A sequence that idles leaves the others room: what no window of it reaches is free at once.
TEST(KvCache, ASequenceThatIdlesHoldsItsWindowAlone) {
  Result<KvCache> cache = KvCache::Create(Plan(2048, 2), Memory());
  ASSERT_TRUE(cache.ok());
  KvCache::Sequence idle = cache->Open({}, false);
  Feed(*cache, idle, Tokens(513), 128);
  std::size_t held = 0;
  for (const std::int32_t page : idle.pages[1]) held += page >= 0;
  EXPECT_LE(held, 3u);  // a window of 100 in pages of 64
  KvCache::Sequence other = cache->Open({}, false);
  EXPECT_GE(cache->Room(other, 512), 128u);
  Feed(*cache, other, Tokens(513, 7), 128);
}

TEST(KvCache, SharesTheLongestHeldPrefix) {
  Result<KvCache> cache = KvCache::Create(Plan(512, 2), Memory());
  ASSERT_TRUE(cache.ok());
  const std::vector<TokenId> prompt = Tokens(200);
  KvCache::Sequence first = cache->Open(prompt, true);
  EXPECT_TRUE(first.tokens.empty());
  Feed(*cache, first, prompt, 64);
  std::vector<TokenId> other = prompt;
  other[150] = 9999;
  KvCache::Sequence second = cache->Open(other, true);
  EXPECT_EQ(second.tokens.size(), 128u);
  EXPECT_EQ(second.pages[0][0], first.pages[0][0]);
  EXPECT_EQ(second.pages[0][1], first.pages[0][1]);
  KvCache::Sequence without = cache->Open(prompt, false);
  EXPECT_TRUE(without.tokens.empty());
  // Never all of the prompt: its last token must be run for its logits.
  KvCache::Sequence exact = cache->Open(Tokens(128), true);
  EXPECT_EQ(exact.tokens.size(), 64u);
}

TEST(KvCache, TakesBackWhatIsNotPublished) {
  Result<KvCache> cache = KvCache::Create(Plan(512, 1), Memory());
  ASSERT_TRUE(cache.ok());
  KvCache::Sequence sequence = cache->Open({}, true);
  Feed(*cache, sequence, Tokens(70), 70);  // one full page is published
  ASSERT_TRUE(cache->Append(sequence, Tokens(80, 500)).ok());
  EXPECT_EQ(sequence.pages[0].size(), 3u);
  EXPECT_EQ(cache->Truncate(sequence, 63).code(), Code::kInternal);
  EXPECT_EQ(cache->Truncate(sequence, 151).code(), Code::kInternal);
  ASSERT_TRUE(cache->Truncate(sequence, 72).ok());
  EXPECT_EQ(sequence.pages[0].size(), 2u);
  EXPECT_EQ(sequence.tokens.back(), 501);
  Feed(*cache, sequence, Tokens(60, 900), 60);
  cache->Close(sequence);
  // The second page was published with the tokens that stayed.
  std::vector<TokenId> kept = Tokens(70);
  kept.insert(kept.end(), {500, 501});
  const std::vector<TokenId> more = Tokens(60, 900);
  kept.insert(kept.end(), more.begin(), more.end());
  EXPECT_EQ(cache->Open(kept, true).tokens.size(), 128u);
}

TEST(KvCache, UnpublishedPagesAreNotShared) {
  Result<KvCache> cache = KvCache::Create(Plan(512, 2), Memory());
  ASSERT_TRUE(cache.ok());
  const std::vector<TokenId> prompt = Tokens(100);
  KvCache::Sequence first = cache->Open({}, true);
  ASSERT_TRUE(cache->Append(first, prompt).ok());  // its step never finished
  cache->Close(first);
  EXPECT_TRUE(cache->Open(prompt, true).tokens.empty());
}

TEST(KvCache, IdlePrefixesGiveWayToNewSequences) {
  Result<KvCache> cache = KvCache::Create(Plan(256, 1), Memory());
  ASSERT_TRUE(cache.ok());
  for (TokenId round = 0; round < 5; ++round) {
    const std::vector<TokenId> prompt = Tokens(256, round * 1000);
    KvCache::Sequence sequence = cache->Open(prompt, true);
    EXPECT_TRUE(sequence.tokens.empty()) << round;
    Feed(*cache, sequence, prompt, 100);
    std::set<std::int32_t> pages(sequence.pages[0].begin(), sequence.pages[0].end());
    EXPECT_EQ(pages.size(), 4u);
    cache->Close(sequence);
  }
  KvCache::Sequence kept = cache->Open(Tokens(256, 4000), true);
  EXPECT_EQ(kept.tokens.size(), 192u);
}

TEST(KvCache, SaysWhenAllPagesAreInUse) {
  Result<KvCache> cache = KvCache::Create(Plan(128, 1), Memory());
  ASSERT_TRUE(cache.ok());
  KvCache::Sequence sequence = cache->Open({}, true);
  const Status status = cache->Append(sequence, Tokens(200));
  EXPECT_EQ(status.code(), Code::kNoMemory);
  EXPECT_NE(status.message().find("KV cache: all 2 pages"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace vt
