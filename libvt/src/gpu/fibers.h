// Threads that take turns: each has a stack of its own and runs until it yields.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace vt::gpu_sim {

class Fibers {
 public:
  Fibers();
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // False: no memory for `count` stacks.
  bool Reserve(int count);
  // Fiber `index` will run `*body`, which must not throw and outlives it. What it was doing before
  // is dropped: nothing on its stack is destroyed.
  void Start(int index, const std::function<void()>* body);
  // Runs it until it yields (true) or its body ends (false).
  bool Resume(int index);
  // From within the fiber that runs.
  void Yield();

 private:
  struct Fiber;
  struct Context;
  static void Enter(Fibers* self);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::unique_ptr<Context> host_;
  Fiber* running_ = nullptr;
};

}  // namespace vt::gpu_sim
