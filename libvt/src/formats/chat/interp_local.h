// Guards of the interpreter: how deep it is, and the variables of a frame while it is entered.
#pragma once

#include "formats/chat/budget.h"
#include "formats/chat/interp.h"

namespace vt::chat {

// Counts evaluation depth while it lives; too deep is an error, long before the stack ends.
class Interp::Nested {
 public:
  explicit Nested(Interp& in) : in_(in) {
    constexpr int kMaxDepth = 1000;
    if (in.depth_ >= kMaxDepth) Fail("maximum recursion depth exceeded");
    ++in.depth_;
  }
  ~Nested() { --in_.depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Interp& in_;
};

// The variables of a frame; kept to the end of the render when a macro may refer to them.
class Interp::Local {
 public:
  Local(Interp& in, const Frame& frame, Env* up) {
    if (frame.captured) {
      in.kept_envs_.push_back(std::make_unique<Env>());
      env_ = in.kept_envs_.back().get();
    }
    env_->up = up;
    env_->slots.resize(static_cast<std::size_t>(frame.slots));
  }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  Env& operator*() { return *env_; }
  Env* operator->() { return env_; }

 private:
  Env own_;
  Env* env_ = &own_;
};

}  // namespace vt::chat
