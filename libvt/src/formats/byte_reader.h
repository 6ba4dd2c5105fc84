// A cursor over bytes that may be hostile: every read is checked against the bytes left, and a read
// that fails moves nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vt {

static_assert(std::endian::native == std::endian::little, "file formats are read as stored");

class ByteReader {
 public:
  ByteReader(const std::byte* base, std::uint64_t size) : base_(base), size_(size) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return size_ - at_; }
  const std::byte* here() const { return base_ + at_; }

  bool Skip(std::uint64_t bytes) {
    if (bytes > left()) return false;
    at_ += bytes;
    return true;
  }

  template <class T>
  bool Read(T& out) {
    if (sizeof(T) > left()) return false;
    std::memcpy(&out, here(), sizeof(T));
    at_ += sizeof(T);
    return true;
  }

  bool ReadText(std::uint64_t bytes, std::string_view& out) {
    if (bytes > left()) return false;
    out = std::string_view(reinterpret_cast<const char*>(here()), static_cast<std::size_t>(bytes));
    at_ += bytes;
    return true;
  }

 private:
  const std::byte* base_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
};

}  // namespace vt
