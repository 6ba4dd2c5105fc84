// A file that is written whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt {

// Bytes go to a file beside `path`, which takes its place at Commit; without that it is removed.
class WholeFile {
 public:
  // kInvalid: `path` is there and is no plain file, or cannot be created (the system's reason).
  static Result<WholeFile> Create(const std::string& path);
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;
  ~WholeFile();

  Status Write(std::string_view bytes);  // kDevice: the disk is full or failed
  Status Commit();
  std::uint64_t size() const { return size_; }

 private:
  WholeFile(std::string path, std::string partial, int descriptor)
      : path_(std::move(path)), partial_(std::move(partial)), descriptor_(descriptor) {}
  Status Failed(const char* what) const;

  std::string path_, partial_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Whether `path` can be written: asked before work whose result goes there.
Status CheckWritable(const std::string& path);

// All of it at once.
Status WriteWhole(const std::string& path, std::string_view text);

// Bytes that the file system of `path` has left for this user; kInvalid: its folder is not there.
Result<std::uint64_t> FreeBytes(const std::string& path);

}  // namespace vt
