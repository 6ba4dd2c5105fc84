#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/json_writer.h"

namespace vt {
namespace {

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<WholeFile> WholeFile::Create(const std::string& path) {
  struct stat facts = {};
  if (path.empty()) return InvalidError("output file: the name is empty");
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    return InvalidError(ValidUtf8(path) + ": is there and is no plain file; give another name");
  }
  std::string partial = path + ".part" + std::to_string(getpid());
  const int descriptor = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return InvalidError(ValidUtf8(path) + ": cannot be created (" + std::strerror(errno) + ")");
  }
  return WholeFile(path, std::move(partial), descriptor);
}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      descriptor_(other.descriptor_),
      size_(other.size_) {
  other.descriptor_ = -1;
  other.partial_.clear();
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!partial_.empty()) unlink(partial_.c_str());
}

Status WholeFile::Failed(const char* what) const {
  return Status(Code::kDevice, ValidUtf8(path_) + ": cannot be " + what + " (" +
                                   std::strerror(errno) + "); nothing was kept");
}

Status WholeFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(descriptor_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return Failed("written");
    size_ += static_cast<std::uint64_t>(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status WholeFile::Commit() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) return Failed("written");
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) return Failed("put in place");
  partial_.clear();
  return {};
}

Status CheckWritable(const std::string& path) { return WholeFile::Create(path).status(); }

Status WriteWhole(const std::string& path, std::string_view text) {
  VT_ASSIGN_OR_RETURN(WholeFile file, WholeFile::Create(path));
  VT_RETURN_IF_ERROR(file.Write(text));
  return file.Commit();
}

Result<std::uint64_t> FreeBytes(const std::string& path) {
  struct statvfs facts = {};
  const std::string folder = FolderOf(path);
  if (statvfs(folder.c_str(), &facts) != 0) {
    return InvalidError(ValidUtf8(folder) + ": is not there (" + std::strerror(errno) + ")");
  }
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace vt
