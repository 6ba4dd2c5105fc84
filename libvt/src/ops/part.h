// How a kernel call is divided over threads.
#pragma once

#include <cstdint>

namespace vt {

// One of `count` equal shares of a kernel's work. A kernel's result never depends on `count`.
struct Part {
  int index = 0;
  int count = 1;
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The share of `items` that falls to `part`, in whole groups of `grain` items.
// Static: files compiled for different instruction sets must not share a copy.
static inline Range Share(std::int64_t items, Part part, std::int64_t grain = 1) {
  const std::int64_t groups = (items + grain - 1) / grain;
  const std::int64_t begin = groups * part.index / part.count * grain;
  const std::int64_t end = groups * (part.index + 1) / part.count * grain;
  return {begin < items ? begin : items, end < items ? end : items};
}

}  // namespace vt
