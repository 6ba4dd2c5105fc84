// A regular file mapped into memory, whole and read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "vt/status.h"

namespace vt {

class MappedFile {
 public:
  // kCorrupt (with the system's reason) for what is missing, unreadable, empty or not a regular
  // file; kNoMemory when the address space is used up. Never blocks on a FIFO or a device. The size
  // is the one at Open: cutting the file while it is mapped is the user's error.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }

  // Lets the system take back the pages that lie wholly in [begin, end). Reading them again works.
  void Release(std::uint64_t begin, std::uint64_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace vt
