// Strings numbered in the order they were added, with a hash index from text to number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vt::tok {

class StringTable {
 public:
  static constexpr std::uint32_t kMissing = 0xFFFFFFFFu;

  // Room for `count` strings of `bytes` bytes together; only saves time.
  void Reserve(std::size_t count, std::size_t bytes);

  // Gives the next number. Of equal texts Find returns the first; the empty text is never found.
  std::uint32_t Append(std::string_view text);

  std::uint32_t Find(std::string_view text) const;

  // Find for many at once, which is much faster in a table that the caches do not hold.
  void FindMany(std::span<const std::string_view> texts, std::span<std::uint32_t> ids) const;

  std::string_view text(std::uint32_t i) const {
    return std::string_view(bytes_).substr(starts_[i], starts_[i + 1] - starts_[i]);
  }
  bool all_differ() const { return all_differ_; }  // no text was added twice
  std::uint32_t size() const { return static_cast<std::uint32_t>(starts_.size() - 1); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = kMissing;
  };
  std::uint32_t FindHashed(std::string_view text, std::uint32_t hash) const;
  void Grow(std::size_t slots);

  bool all_differ_ = true;
  std::string bytes_;
  std::vector<std::size_t> starts_{0};
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace vt::tok
