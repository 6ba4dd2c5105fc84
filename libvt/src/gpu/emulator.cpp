#include "gpu/emulator.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/fibers.h"

namespace vt::gpu_sim {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::int64_t kMostBlocks = 0x7fffffff;
constexpr std::size_t kSharedLimit = std::size_t{48} << 10;  // what every GPU gives a block
constexpr unsigned char kPoison = 0xff;                      // floats of it are NaNs
constexpr std::uint64_t kPoisonBits = ~std::uint64_t{0};

enum class State { kReady, kAtShuffle, kAtBarrier, kEnded };

struct Thread {
  State state = State::kReady;
  ShuffleKind kind = ShuffleKind::kXor;
  int operand = 0;
  std::uint64_t offered = 0;
  std::uint64_t received = 0;
};

// One launch: what its blocks and threads share.
class Run {
 public:
  Run(const char* kernel, const Grid& grid, const EmulatorOptions& options, Fibers& fibers,
      const std::function<void()>& body)
      : kernel_(kernel), grid_(grid), options_(options), fibers_(fibers), body_(body) {
    threads_.resize(static_cast<std::size_t>(grid.threads));
    order_.resize(threads_.size());
    std::iota(order_.begin(), order_.end(), 0);
    random_.seed(options.seed);
    shared_.resize(kSharedLimit);
  }

  Status Blocks();

  int thread() const { return current_; }
  int thread_count() const { return grid_.threads; }
  std::int64_t block() const { return block_; }
  int warp_size() const { return options_.warp_size; }

  void WaitAt(State state) {
    threads_[static_cast<std::size_t>(current_)].state = state;
    fibers_.Yield();
  }
  std::uint64_t Shuffle(ShuffleKind kind, std::uint64_t value, int operand) {
    Thread& thread = threads_[static_cast<std::size_t>(current_)];
    thread.kind = kind;
    thread.operand = operand;
    thread.offered = value;
    WaitAt(State::kAtShuffle);
    return thread.received;
  }
  void* Shared(const void* name, std::size_t bytes);
  SharedBytes Dynamic() { return {shared_.data(), grid_.shared_bytes}; }
  void Record(const BadAccess& access);

 private:
  void BeginBlock();
  Status Block();
  void Warp(int first, int end);
  bool Exchange(int first, int end);
  void PutInOrder();
  Status Stuck() const;
  std::string Where(int thread) const {
    return "block " + std::to_string(block_) + ", thread " + std::to_string(thread);
  }
  std::string Subject() const { return std::string("kernel ") + kernel_ + ": "; }
  const Thread& At(int thread) const { return threads_[static_cast<std::size_t>(thread)]; }

  const char* kernel_;
  Grid grid_;
  EmulatorOptions options_;
  Fibers& fibers_;
  const std::function<void()>& body_;
  std::mt19937 random_;
  std::vector<Thread> threads_;
  std::vector<int> order_;  // of the threads, a warp's together
  std::vector<unsigned char> shared_;
  std::map<const void*, std::size_t> arrays_;  // where each begins in shared_
  std::size_t shared_used_ = 0;
  std::int64_t block_ = 0;
  int current_ = 0;
  std::string fault_;
  std::int64_t faults_ = 0;
};

thread_local Run* running = nullptr;

void Run::BeginBlock() {
  arrays_.clear();
  shared_used_ = static_cast<std::size_t>(grid_.shared_bytes);
  std::memset(shared_.data(), kPoison, shared_used_);
  for (int t = 0; t < grid_.threads; ++t) {
    threads_[static_cast<std::size_t>(t)] = Thread{};
    fibers_.Start(t, &body_);
  }
}

void* Run::Shared(const void* name, std::size_t bytes) {
  const auto [place, added] = arrays_.emplace(name, (shared_used_ + 15) / 16 * 16);
  if (added) {
    if (place->second + bytes > kSharedLimit) {
      arrays_.erase(place);
      if (faults_++ == 0) {
        fault_ = Where(current_) + ": wants " + std::to_string(bytes) +
                 " bytes of shared memory on top of " + std::to_string(shared_used_) +
                 ", a block has " + std::to_string(kSharedLimit);
      }
      return nullptr;
    }
    shared_used_ = place->second + bytes;
    std::memset(shared_.data() + place->second, kPoison, bytes);
  }
  return shared_.data() + place->second;
}

void Run::Record(const BadAccess& access) {
  if (faults_++ > 0) return;
  fault_ = Where(current_) + ": " + access.what + " of ";
  const std::string index = std::to_string(access.index), size = std::to_string(access.size);
  if (access.loaded > 0) {
    fault_ += std::to_string(access.loaded) + " bytes from byte " + index + " of a buffer of " +
              size + " bytes";
  } else {
    fault_ += "index " + index + " of a buffer of " + size + " values of " +
              std::to_string(access.unit) + (access.unit == 1 ? " byte" : " bytes");
  }
}

void Run::PutInOrder() {
  if (options_.order == ThreadOrder::kForward) return;
  if (options_.order == ThreadOrder::kBackward) {
    std::iota(order_.rbegin(), order_.rend(), 0);
    return;
  }
  const int warps = (grid_.threads + options_.warp_size - 1) / options_.warp_size;
  std::vector<int> warp_order(static_cast<std::size_t>(warps));
  std::iota(warp_order.begin(), warp_order.end(), 0);
  std::shuffle(warp_order.begin(), warp_order.end(), random_);
  order_.clear();
  for (const int warp : warp_order) {
    const auto first = static_cast<std::ptrdiff_t>(order_.size());
    const int begin = warp * options_.warp_size;
    for (int t = begin; t < std::min(begin + options_.warp_size, grid_.threads); ++t) {
      order_.push_back(t);
    }
    std::shuffle(order_.begin() + first, order_.end(), random_);
  }
}

// Gives each waiting thread of order_[first, end), all of one warp, what it asked of the others.
// False when they wait at shuffles of different kinds.
bool Run::Exchange(int first, int end) {
  const int warp_begin = order_[static_cast<std::size_t>(first)] / options_.warp_size *  //
                         options_.warp_size;
  std::optional<ShuffleKind> kind;
  for (int i = first; i < end; ++i) {
    const Thread& thread = At(order_[static_cast<std::size_t>(i)]);
    if (thread.state != State::kAtShuffle) continue;
    if (kind && *kind != thread.kind) return false;
    kind = thread.kind;
  }
  for (int i = first; i < end; ++i) {
    const int t = order_[static_cast<std::size_t>(i)];
    Thread& thread = threads_[static_cast<std::size_t>(t)];
    if (thread.state != State::kAtShuffle) continue;
    const int lane = t - warp_begin;
    const int from = *kind == ShuffleKind::kXor ? lane ^ thread.operand : lane + thread.operand;
    const int source = from >= 0 && from < options_.warp_size ? warp_begin + from : t;
    const bool there = source < grid_.threads && At(source).state == State::kAtShuffle;
    thread.received = there ? At(source).offered : kPoisonBits;
  }
  for (int i = first; i < end; ++i) {
    Thread& thread = threads_[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])];
    if (thread.state == State::kAtShuffle) thread.state = State::kReady;
  }
  return true;
}

// Runs a warp until each of its threads has ended, waits at the barrier, or waits for a lane of
// the warp that does not come.
void Run::Warp(int first, int end) {
  while (true) {
    int shuffles = 0, barriers = 0;
    for (int i = first; i < end; ++i) {
      const int t = order_[static_cast<std::size_t>(i)];
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      if (thread.state == State::kReady) {
        current_ = t;
        if (!fibers_.Resume(t)) thread.state = State::kEnded;
      }
      shuffles += thread.state == State::kAtShuffle;
      barriers += thread.state == State::kAtBarrier;
    }
    if (shuffles == 0 || barriers > 0 || !Exchange(first, end)) return;
  }
}

Status Run::Block() {
  BeginBlock();
  while (true) {
    PutInOrder();
    const int count = grid_.threads;
    for (int first = 0; first < count;) {
      // In backward order the last warp comes first and may be short.
      const int warp = order_[static_cast<std::size_t>(first)] / options_.warp_size;
      int end = first;
      while (end < count && order_[static_cast<std::size_t>(end)] / options_.warp_size == warp)
        ++end;
      Warp(first, end);
      first = end;
    }
    std::size_t ended = 0, barriers = 0;
    for (const Thread& thread : threads_) {
      ended += thread.state == State::kEnded;
      barriers += thread.state == State::kAtBarrier;
    }
    if (ended == threads_.size()) return {};
    if (barriers != threads_.size()) return Stuck();
    for (Thread& thread : threads_) thread.state = State::kReady;
  }
}

Status Run::Stuck() const {
  const auto first_at = [&](auto holds) {
    int t = 0;
    while (t < grid_.threads && !holds(At(t))) ++t;
    return t;
  };
  const int shuffles = first_at([](const Thread& t) { return t.state == State::kAtShuffle; });
  std::string what;
  if (shuffles < grid_.threads) {
    what = Where(shuffles) + ": waits at a shuffle that other threads of its warp do not reach";
  } else {
    const int waits = first_at([](const Thread& t) { return t.state == State::kAtBarrier; });
    const int ended = first_at([](const Thread& t) { return t.state == State::kEnded; });
    what = Where(waits) + ": waits at a barrier that thread " + std::to_string(ended) +
           " never reaches: it has left the kernel";
  }
  return {Code::kDevice, Subject() + what};
}

Status Run::Blocks() {
  running = this;
  Status stuck;
  for (block_ = 0; block_ < grid_.blocks && stuck.ok() && faults_ == 0; ++block_) stuck = Block();
  running = nullptr;
  if (faults_ == 0) return stuck;
  std::string text = Subject() + fault_;
  if (faults_ > 1) text += "; " + std::to_string(faults_ - 1) + " more in the same block";
  return {Code::kDevice, text};
}

class EmulatedStream : public GpuStream {
 public:
  explicit EmulatedStream(const EmulatorOptions& options) : options_(options) {}

  Status Launch(const char* kernel, const Grid& grid, const std::function<void()>& thread) {
    const std::string subject = std::string("kernel ") + kernel + ": ";
    if (grid.blocks < 1 || grid.blocks > kMostBlocks || grid.threads < 1 ||
        grid.threads > kMostThreads || grid.shared_bytes < 0 ||
        static_cast<std::size_t>(grid.shared_bytes) > kSharedLimit) {
      return InvalidError(subject + std::to_string(grid.blocks) + " blocks of " +
                          std::to_string(grid.threads) + " threads with " +
                          std::to_string(grid.shared_bytes) +
                          " bytes of shared memory cannot be launched (most: 2147483647, 1024, " +
                          std::to_string(kSharedLimit) + ")");
    }
    if (running) return InternalError(subject + "launched from within a kernel");
    // One set of stacks for all streams of this host thread.
    static thread_local Fibers fibers;
    if (!fibers.Reserve(grid.threads)) return NoMemoryError(subject + "no memory for its threads");
    Status status = Run(kernel, grid, options_, fibers, thread).Blocks();
    if (first_error_.ok()) first_error_ = status;
    return status;
  }

  Status Synchronize() override {
    if (++waits_ == options_.fail_at_wait) {
      return {Code::kDevice, "wait " + std::to_string(waits_) +
                                 " for the queue: it fails there (its profile says so)"};
    }
    return std::exchange(first_error_, Status());
  }

 private:
  EmulatorOptions options_;
  Status first_error_;
  std::uint64_t waits_ = 0;
};

}  // namespace

std::unique_ptr<GpuStream> OpenEmulator(const EmulatorOptions& options) {
  return std::make_unique<EmulatedStream>(options);
}

Status RunEmulated(GpuStream& stream, const char* kernel, const Grid& grid,
                   const std::function<void()>& thread) {
  auto* emulated = dynamic_cast<EmulatedStream*>(&stream);
  if (!emulated)
    return InternalError(std::string("kernel ") + kernel + ": not the emulator's stream");
  return emulated->Launch(kernel, grid, thread);
}

int ThreadIndex() { return running->thread(); }
int ThreadCount() { return running->thread_count(); }
std::int64_t BlockIndex() { return running->block(); }
int WarpSize() { return running->warp_size(); }
void Barrier() { running->WaitAt(State::kAtBarrier); }
std::uint64_t ShuffleBits(ShuffleKind kind, std::uint64_t value, int operand) {
  return running->Shuffle(kind, value, operand);
}
void* SharedMemory(const void* name, std::size_t bytes) { return running->Shared(name, bytes); }
SharedBytes DynamicSharedMemory() { return running->Dynamic(); }
void RecordAccess(const BadAccess& access) { running->Record(access); }

}  // namespace vt::gpu_sim
