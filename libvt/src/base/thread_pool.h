// A fixed set of threads that run one job at a time, split in parts.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "ops/part.h"

namespace vt {

// Run is called by one thread at a time, which works on part 0 itself. Workers spin for a short
// while between jobs, then sleep.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(Part{i, parts}) for every i; parts is at most threads(). Returns when all are done.
  template <class Fn>
  void Run(int parts, Fn&& fn) {
    using Plain = std::remove_reference_t<Fn>;
    RunJob(
        parts, [](void* context, Part part) { (*static_cast<Plain*>(context))(part); },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using Job = void (*)(void* context, Part part);
  void RunJob(int parts, Job job, void* context);
  void Work(int index);

  std::vector<std::thread> workers_;
  // Written before epoch_ is raised, read after: the epoch orders them.
  Job job_ = nullptr;
  void* context_ = nullptr;
  int parts_ = 0;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  alignas(64) std::atomic<std::uint32_t> pending_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace vt
