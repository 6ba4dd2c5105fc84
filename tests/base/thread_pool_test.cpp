#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace vt {
namespace {

TEST(ThreadPool, EveryPartRunsOnceAndResultsAreSeen) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 2000; ++round) {
      const int parts = 1 + round % threads;
      std::vector<int> hits(static_cast<std::size_t>(parts),
                            0);  // plain ints: the pool must order them
      pool.Run(parts, [&](Part part) {
        EXPECT_EQ(part.count, parts);
        ++hits[static_cast<std::size_t>(part.index)];
      });
      for (const int hit : hits) ASSERT_EQ(hit, 1);
    }
  }
}

TEST(ThreadPool, WakesAfterSleeping) {
  ThreadPool pool(3);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> sum{0};
    pool.Run(3, [&](Part part) { sum += part.index + 1; });
    EXPECT_EQ(sum, 6);
  }
}

TEST(Share, CoversEverythingOnceInWholeGrains) {
  for (const std::int64_t items : {0, 1, 7, 16, 17, 1000}) {
    for (const std::int64_t grain : {1, 4, 16}) {
      for (const int count : {1, 2, 3, 8}) {
        std::int64_t at = 0;
        for (int i = 0; i < count; ++i) {
          const Range range = Share(items, Part{i, count}, grain);
          EXPECT_EQ(range.begin, at);
          EXPECT_LE(range.begin, range.end);
          EXPECT_TRUE(range.end == items || range.end % grain == 0);
          at = range.end;
        }
        EXPECT_EQ(at, items);
      }
    }
  }
}

}  // namespace
}  // namespace vt
