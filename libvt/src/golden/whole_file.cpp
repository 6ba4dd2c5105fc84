#include "golden/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/json_writer.h"

namespace vt {

Status WriteWholeFile(const std::string& path, std::string_view text) {
  const std::string name = ValidUtf8(path);
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
  bool good = fchmod(descriptor, 0666 & ~mask) == 0;
  while (good && !text.empty()) {
    const ssize_t wrote = write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    good = wrote > 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  // Some file systems report a full disk only when the file is closed.
  const int error = errno;
  if (close(descriptor) == 0 && good && std::rename(temporary.c_str(), path.c_str()) == 0) {
    return {};
  }
  const int reason = good ? errno : error;
  unlink(temporary.c_str());
  return Status(Code::kDevice,
                name + ": cannot be written (" + std::strerror(reason) + "); no file was left");
}

}  // namespace vt
