// Texts and bytes that live as long as the arena, at addresses that never change.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace vt {

class TextArena {
 public:
  std::string_view Keep(std::string_view text) {
    if (text.empty()) return {};
    char* const copy = Take(text.size());
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }

  // `bytes` bytes, at least one, not aligned.
  char* Take(std::size_t bytes) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    if (bytes > left_) {
      // A large text has a block of its own, so that the rest of the last one is not lost.
      if (bytes >= kBlock / 4) return NewBlock(bytes);
      next_ = NewBlock(kBlock);
      left_ = kBlock;
    }
    char* const taken = next_;
    next_ += bytes;
    left_ -= bytes;
    return taken;
  }

 private:
  char* NewBlock(std::size_t bytes) {
    blocks_.push_back(std::make_unique<char[]>(bytes));
    return blocks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace vt
