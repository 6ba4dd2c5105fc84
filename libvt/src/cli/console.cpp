#include "cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/json_writer.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

constexpr int kPollMs = 200;
// A pipe that poll calls writable takes this much without waiting (PIPE_BUF on Linux).
constexpr std::size_t kChunk = 4096;

void WriteStderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(STDERR_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::size_t TerminalColumns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::min<std::size_t>(size.ws_col, 80);
}

bool StderrIsTerminal() {
  static const bool terminal = [] {
    const char* kind = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && !(kind && std::string_view(kind) == "dumb");
  }();
  return terminal;
}

}  // namespace

std::string ErrorDocument(const Status& status) {
  JsonWriter json;
  json.BeginObject().Field("type", "error").Field("schema", "vt.error/1");
  WriteTool(json);
  json.Field("code", CodeName(status.code())).Field("exit_code", ExitCode(status.code()));
  json.Field("message", status.message()).Key("at");
  if (status.at().empty()) {
    json.Null();
  } else {
    json.Value(status.at());
  }
  return json.EndObject().Take();
}

Status Console::Write(std::string_view text) {
  ClearProgress();
  while (!text.empty()) {
    if (closed_) return Status(Code::kInterrupted, "stdout: closed by its reader");
    pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&ready, 1, kPollMs) <= 0) {
      if (interrupted()) return Status(Code::kInterrupted, "interrupted while writing to stdout");
      continue;
    }
    const ssize_t wrote = write(STDOUT_FILENO, text.data(), std::min(text.size(), kChunk));
    if (wrote >= 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR && errno != EAGAIN) {
      failed_ = true;
      return Status(Code::kDevice, std::string("stdout: cannot be written (") +
                                       std::strerror(errno) + "); the output is incomplete");
    }
  }
  return Status();
}

Status Console::WriteLine(std::string text) {
  text.push_back('\n');
  return Write(text);
}

void Console::Note(std::string_view text) {
  if (!quiet_) Print(tool_ + ": note: " + std::string(text) + "\n");
}

void Console::Print(std::string_view text) {
  ClearProgress();
  WriteStderr(ValidUtf8(text));
}

void Console::Progress(std::string_view label, std::uint64_t done, std::uint64_t total) {
  constexpr std::int64_t kRedrawNs = 100'000'000;
  if (quiet_ || total == 0 || !StderrIsTerminal()) return;
  const std::int64_t now = NowNs();
  if (bar_shown_ && now - bar_drawn_ns_ < kRedrawNs) return;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string percent = std::to_string(static_cast<int>(share * 100)) + "%";
  // label, space, brackets, space, "100%"; the last column stays empty, so that no line wraps.
  const std::size_t fixed = label.size() + 9;
  const std::size_t columns = TerminalColumns();
  if (columns < fixed + 4) return;
  const std::size_t width = columns - fixed;
  const std::size_t full = static_cast<std::size_t>(share * static_cast<double>(width));
  WriteStderr("\r" + std::string(label) + " [" + std::string(full, '#') +
              std::string(width - full, ' ') + "] " + std::string(4 - percent.size(), ' ') +
              percent);
  bar_shown_ = true;
  bar_drawn_ns_ = now;
}

void Console::ClearProgress() {
  if (!bar_shown_) return;
  WriteStderr("\r\x1b[K");
  bar_shown_ = false;
}

int Console::Fail(const Status& status) {
  if (closed_) return 0;
  Print(tool_ + ": error: " + status.message() + "\n");
  const std::string document = ErrorDocument(status);
  // Where stdout cannot be written, stderr gets the document.
  if (!json_ || failed_ || !WriteLine(document).ok()) Print(document + "\n");
  return closed_ ? 0 : ExitCode(status.code());
}

}  // namespace vt::cli
