#include "cli/logits_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/json_writer.h"

namespace vt::cli {

LogitsFile::LogitsFile(std::string path, std::string temporary, int descriptor, std::size_t rows)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor),
      missing_rows_(rows) {}

LogitsFile::LogitsFile(LogitsFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      missing_rows_(other.missing_rows_) {}

LogitsFile::~LogitsFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status LogitsFile::Failed(const char* what) const {
  const int error = errno;
  return Status(Code::kDevice, "--dump-logits: " + ValidUtf8(path_) + ": cannot be " + what + " (" +
                                   std::strerror(error) + "); no file was left");
}

Result<LogitsFile> LogitsFile::Create(const std::string& path, std::size_t rows) {
  const std::string name = "--dump-logits: " + ValidUtf8(path);
  struct stat existing = {};
  if (stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    return InvalidError(name + ": is there and is no plain file; give another name");
  }
  std::string temporary = path + ".partial-XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return InvalidError(name + ": cannot be made (" + std::strerror(errno) + ")");
  }
  // mkostemp makes private files; this one gets the permissions of any new file.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  return LogitsFile(path, std::move(temporary), descriptor, rows);
}

Status LogitsFile::Write(std::size_t row, std::span<const float> logits) {
  const char* bytes = reinterpret_cast<const char*>(logits.data());
  std::size_t left = logits.size_bytes();
  auto offset = static_cast<off_t>(row * logits.size_bytes());
  while (left > 0) {
    const ssize_t wrote = pwrite(descriptor_, bytes, left, offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return Failed("written");
    bytes += wrote;
    offset += wrote;
    left -= static_cast<std::size_t>(wrote);
  }
  if (--missing_rows_ > 0) return Status();
  // Some file systems report a full disk only here.
  if (close(std::exchange(descriptor_, -1)) != 0) return Failed("written");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return Failed("given its name");
  temporary_.clear();
  return Status();
}

}  // namespace vt::cli
