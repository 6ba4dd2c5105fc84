#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "formats/file_error.h"

namespace vt {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string Reason(int error) { return std::generic_category().message(error); }

std::string_view KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // Without O_NONBLOCK, opening a FIFO waits for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.fd < 0) return FileCorrupt(path, "cannot be opened: " + Reason(errno));
  struct stat facts {};
  if (::fstat(file.fd, &facts) != 0) return FileCorrupt(path, "cannot be read: " + Reason(errno));
  if (!S_ISREG(facts.st_mode)) {
    return FileCorrupt(path, "is " + std::string(KindName(facts.st_mode)) +
                                 " (a regular file is wanted); give the model file itself");
  }
  if (facts.st_size <= 0) return FileCorrupt(path, "is empty (0 bytes); fetch the file again");

  MappedFile mapped;
  mapped.size_ = static_cast<std::uint64_t>(facts.st_size);
  void* const address = ::mmap(nullptr, static_cast<std::size_t>(mapped.size_), PROT_READ,
                               MAP_PRIVATE | MAP_NORESERVE, file.fd, 0);
  if (address == MAP_FAILED) {
    const int error = errno;
    mapped.size_ = 0;
    const std::string what = "cannot be mapped: " + Reason(error);
    if (error == ENOMEM) return Status(Code::kNoMemory, path + ": " + what, path);
    return FileCorrupt(path, what);
  }
  mapped.data_ = static_cast<const std::byte*>(address);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), static_cast<std::size_t>(size_));
}

void MappedFile::Release(std::uint64_t begin, std::uint64_t end) const {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first = (begin + page - 1) / page * page;
  const std::uint64_t last = end / page * page;
  if (first >= last || last > size_) return;
  ::madvise(const_cast<std::byte*>(data_) + first, static_cast<std::size_t>(last - first),
            MADV_DONTNEED);
}

}  // namespace vt
