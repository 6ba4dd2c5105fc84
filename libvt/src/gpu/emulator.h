// A GPU on the host: the kernels of libvt/src/gpu run as they are written, with the meaning of
// blocks, threads, barriers, shared memory and warp shuffles, so that their results and their
// mistakes can be seen with no GPU.
//
// Blocks run one after another, a block's threads as fibers that switch where they wait. Not
// emulated: time, and races between threads that do not wait for each other; but threads can be run
// in several orders, and results must not depend on which.
//
// Found, and reported with kernel, block and thread as kDevice: accesses outside a View, barriers
// and shuffles that some threads never reach. Shared memory holds NaNs when a block begins, and so
// does what a shuffle takes from a lane that is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "gpu/stream.h"
#include "vt/status.h"

namespace vt::gpu_sim {

enum class ThreadOrder { kForward, kBackward, kShuffled };
struct EmulatorOptions {
  int warp_size = 32;  // 32 or 64
  ThreadOrder order = ThreadOrder::kForward;
  std::uint32_t seed = 1;          // of kShuffled
  std::uint64_t fail_at_wait = 0;  // the Synchronize of this number, from 1, fails; 0: none
};

// A stream whose kernels have run when a launch returns; the launch and the next Synchronize give
// what went wrong.
std::unique_ptr<GpuStream> OpenEmulator(const EmulatorOptions& options = {});

// Runs thread() for every thread of a grid. kInvalid: an impossible shape.
struct Grid {
  std::int64_t blocks = 0;
  int threads = 0;
  int shared_bytes = 0;
};
Status RunEmulated(GpuStream& stream, const char* kernel, const Grid& grid,
                   const std::function<void()>& thread);

// What a kernel's thread asks, and never anyone else.
int ThreadIndex();
int ThreadCount();
std::int64_t BlockIndex();
int WarpSize();
// Until every thread of the block is here.
void Barrier();
// Until every thread of the warp that has not ended is here.
enum class ShuffleKind : std::uint8_t { kDown, kXor };
std::uint64_t ShuffleBits(ShuffleKind kind, std::uint64_t value, int operand);
// The block's memory of that name, the same for all its threads; aligned to 16 bytes.
void* SharedMemory(const void* name, std::size_t bytes);
struct SharedBytes {
  void* data;
  std::int64_t bytes;
};
SharedBytes DynamicSharedMemory();

struct BadAccess {
  const char* what;        // "read", "write"
  std::int64_t index;      // of the value
  std::int64_t size;       // values there are
  std::size_t unit;        // bytes of a value
  std::size_t loaded = 0;  // of a load of several bytes (unit 1): how many
};
void RecordAccess(const BadAccess& access);

}  // namespace vt::gpu_sim
