#include "base/json.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "base/json_writer.h"

namespace vt {
namespace {

constexpr int kPollMs = 200;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kMostDepth = 200;

Result<std::string> ReadAll(int descriptor, const std::string& name,
                            const std::atomic<bool>& interrupted) {
  std::string text;
  std::vector<char> block(1 << 16);
  while (true) {
    if (interrupted) return Status(Code::kInterrupted, name + ": interrupted while reading");
    pollfd ready = {.fd = descriptor, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    const ssize_t got = read(descriptor, block.data(), block.size());
    if (got == 0) return text;
    if (got < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return InvalidError(name + ": cannot be read (" + std::strerror(errno) + ")");
    }
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostBytes) return InvalidError(name + ": larger than 1 GiB");
  }
}

bool TooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<std::string> ReadInput(const std::string& path, const std::atomic<bool>& interrupted) {
  if (path == "-") return ReadAll(STDIN_FILENO, "stdin", interrupted);
  // O_NONBLOCK: opening a pipe that nobody writes to must not wait beyond an interruption.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const Code code = errno == ENOENT ? Code::kNotFound : Code::kInvalid;
    return Status(code, ValidUtf8(path) + ": cannot be opened (" + std::strerror(errno) + ")");
  }
  Result<std::string> text = ReadAll(descriptor, ValidUtf8(path), interrupted);
  close(descriptor);
  return text;
}

Result<nlohmann::ordered_json> ParseJson(std::string_view text) {
  using nlohmann::ordered_json;
  if (TooDeep(text)) {
    return InvalidError("JSON nested deeper than " + std::to_string(kMostDepth) + " levels");
  }
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, ordered_json::parse_event_t event, ordered_json& value) {
    using Event = ordered_json::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  try {
    ordered_json value = ordered_json::parse(text.begin(), text.end(), watch);
    if (!twice.empty())
      return InvalidError("JSON: key \"" + ValidUtf8(twice) + "\" is given twice");
    return value;
  } catch (const ordered_json::exception& error) {
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] "), what.size() - 2) + 2);
    return InvalidError("JSON: " + ValidUtf8(what));
  }
}

Status JsonError(const std::string& pointer, const std::string& message) {
  return Status(Code::kInvalid, (pointer.empty() ? "" : pointer + ": ") + message, pointer);
}

}  // namespace vt
