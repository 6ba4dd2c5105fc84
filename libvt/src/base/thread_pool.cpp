#include "base/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vt {
namespace {

// A pause takes 40 to 140 cycles: 30 to 100 us, longer than the gap between two ops of a step and
// shorter than anyone would notice.
constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Returns when `value` is no longer `old`.
void AwaitChange(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunJob(int parts, Job job, void* context) {
  if (parts <= 1 || workers_.empty()) {
    job(context, Part{0, 1});
    return;
  }
  job_ = job;
  context_ = context;
  parts_ = parts;
  pending_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  job(context, Part{0, parts});
  for (std::uint32_t left; (left = pending_.load(std::memory_order_acquire)) != 0;) {
    AwaitChange(pending_, left);
  }
}

void ThreadPool::Work(int index) {
  for (std::uint32_t seen = 0;;) {
    AwaitChange(epoch_, seen);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (index < parts_) job_(context_, Part{index, parts_});
    if (pending_.fetch_sub(1, std::memory_order_release) == 1) pending_.notify_one();
  }
}

}  // namespace vt
