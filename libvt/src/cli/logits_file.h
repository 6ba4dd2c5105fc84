// A file of logits that is there whole or not at all: written under a temporary name beside its
// own, renamed when its last row is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vt/status.h"

namespace vt::cli {

class LogitsFile {
 public:
  // kInvalid when `path` cannot be written (its folder, or it is no plain file).
  static Result<LogitsFile> Create(const std::string& path, std::size_t rows);
  LogitsFile(LogitsFile&& other) noexcept;
  LogitsFile& operator=(LogitsFile&&) = delete;
  ~LogitsFile();  // removes an incomplete file

  // Row `row` of [rows, vocab] f32, little-endian. After the last missing row the file has its
  // name.
  Status Write(std::size_t row, std::span<const float> logits);
  bool complete() const { return missing_rows_ == 0; }

 private:
  LogitsFile(std::string path, std::string temporary, int descriptor, std::size_t rows);
  Status Failed(const char* what) const;

  std::string path_;
  std::string temporary_;  // empty: renamed
  int descriptor_ = -1;
  std::size_t missing_rows_ = 0;
};

}  // namespace vt::cli
