#include "gpu/fibers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define VT_FIBERS_PORTABLE 1
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#ifndef VT_FIBERS_PORTABLE
// Puts what a called function must keep (System V ABI: rbx, rbp, r12-r15) on the stack, stores the
// stack's address and goes on where another stack left off. swapcontext does two system calls on
// top, fifty times the cost.
extern "C" void vt_switch_stack(void** from, void* to);
asm(R"(
  .text
  .p2align 4
  .type vt_switch_stack, @function
vt_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size vt_switch_stack, .-vt_switch_stack
)");
#endif

namespace vt::gpu_sim {
namespace {

// Kernels keep little on the stack, but sanitizers keep more.
constexpr std::size_t kStackBytes = std::size_t{64} << 10;

thread_local Fibers* entering = nullptr;

}  // namespace

struct Fibers::Context {
#ifdef VT_FIBERS_PORTABLE
  ucontext_t state{};
#else
  void* stack_pointer = nullptr;
#endif
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan = nullptr;
#endif

  // Leaves `from` and goes on in `to`.
  static void Switch(Context& from, Context& to) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    from.tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.tsan, 0);
#endif
#ifdef VT_FIBERS_PORTABLE
    swapcontext(&from.state, &to.state);
#else
    vt_switch_stack(&from.stack_pointer, to.stack_pointer);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(from.fake_stack, &to.bottom, &to.bytes);
#endif
  }
};

struct Fibers::Fiber {
  Context context;
  char* map = nullptr;
  std::size_t mapped = 0;
  const std::function<void()>* body = nullptr;
  bool idle = false;  // in Enter, between two bodies

  ~Fiber() {
#if defined(__SANITIZE_THREAD__)
    if (context.tsan) __tsan_destroy_fiber(context.tsan);
#endif
    if (map) munmap(map, mapped);
  }
};

Fibers::Fibers() : host_(std::make_unique<Context>()) {}
Fibers::~Fibers() = default;

bool Fibers::Reserve(int count) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  while (fibers_.size() < static_cast<std::size_t>(count)) {
    auto fiber = std::make_unique<Fiber>();
    fiber->mapped = kStackBytes + page;
    void* map = mmap(nullptr, fiber->mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED) return false;
    fiber->map = static_cast<char*>(map);
    mprotect(fiber->map, page, PROT_NONE);  // a stack that runs over faults
    fibers_.push_back(std::move(fiber));
  }
  return true;
}

void Fibers::Start(int index, const std::function<void()>* body) {
  Fiber& fiber = *fibers_[static_cast<std::size_t>(index)];
  fiber.body = body;
  if (std::exchange(fiber.idle, false)) return;
  char* top = fiber.map + fiber.mapped;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(top - kStackBytes, kStackBytes);  // of what ran there before
  fiber.context.fake_stack = nullptr;
  fiber.context.bottom = top - kStackBytes;
  fiber.context.bytes = kStackBytes;
#endif
#if defined(__SANITIZE_THREAD__)
  if (fiber.context.tsan) __tsan_destroy_fiber(fiber.context.tsan);
  fiber.context.tsan = __tsan_create_fiber(0);
#endif
#ifdef VT_FIBERS_PORTABLE
  getcontext(&fiber.context.state);
  fiber.context.state.uc_stack.ss_sp = top - kStackBytes;
  fiber.context.state.uc_stack.ss_size = kStackBytes;
  fiber.context.state.uc_link = nullptr;
  makecontext(
      &fiber.context.state, [] { Enter(entering); }, 0);
#else
  // As vt_switch_stack leaves a stack: six registers, then where to go; the ABI wants the stack 8
  // past a multiple of 16 when a function begins.
  void (*enter)() = [] { Enter(entering); };
  auto* stack = reinterpret_cast<std::uintptr_t*>(top) - 2;
  *stack = reinterpret_cast<std::uintptr_t>(enter);
  for (int i = 0; i < 6; ++i) *--stack = 0;
  fiber.context.stack_pointer = stack;
#endif
}

void Fibers::Enter(Fibers* self) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->host_->bottom, &self->host_->bytes);
#endif
  Fiber& fiber = *self->running_;
  for (;;) {
    (*fiber.body)();
    fiber.idle = true;
    self->Yield();
  }
}

bool Fibers::Resume(int index) {
  running_ = fibers_[static_cast<std::size_t>(index)].get();
  entering = this;
  Context::Switch(*host_, running_->context);
  const bool waits = !running_->idle;
  running_ = nullptr;
  return waits;
}

void Fibers::Yield() { Context::Switch(running_->context, *host_); }

}  // namespace vt::gpu_sim
