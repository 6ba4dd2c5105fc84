// The standard streams of a tool: answers to stdout, everything people read to stderr.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt::cli {

// The vt.error/1 document of a failure, one line without its newline.
std::string ErrorDocument(const Status& status);

class Console {
 public:
  // `tool` starts every message. `interrupted` is polled while a write waits.
  Console(std::string_view tool, const std::atomic<bool>* interrupted)
      : tool_(tool), interrupted_(interrupted) {}

  void set_quiet(bool quiet) { quiet_ = quiet; }
  // Failures are documents on stdout, not on stderr.
  void set_json(bool json) { json_ = json; }

  // Writes to stdout at once. A reader that went away sets closed() and gives kInterrupted;
  // kInterrupted also when the write was waiting as the user interrupted; kDevice: any other
  // failure.
  Status Write(std::string_view text);
  Status WriteLine(std::string text);
  bool closed() const { return closed_; }

  // "tool: note: text" on stderr, unless quiet.
  void Note(std::string_view text);
  // Lines on stderr.
  void Print(std::string_view text);

  // A bar on stderr, when that is a terminal and not quiet: "label [####    ]  42%". It is drawn at
  // most ten times a second and cleared by ClearProgress or any other output.
  void Progress(std::string_view label, std::uint64_t done, std::uint64_t total);
  void ClearProgress();

  // Reports the failure: a message for people and the error document. Returns the exit code.
  int Fail(const Status& status);

  bool interrupted() const { return interrupted_->load(std::memory_order_relaxed); }
  const std::atomic<bool>& interrupted_flag() const { return *interrupted_; }

 private:
  std::string tool_;
  const std::atomic<bool>* interrupted_;
  bool quiet_ = false;
  bool json_ = false;
  bool closed_ = false;
  bool failed_ = false;  // a write to stdout failed
  bool bar_shown_ = false;
  std::int64_t bar_drawn_ns_ = 0;
};

}  // namespace vt::cli
