// Runs the built programs as a user would: its own process, its own folder, real streams.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace vt::test {

struct Command {
  std::vector<std::string> args;
  std::string program;                    // the path; empty: vt-run
  std::optional<std::string> stdin_text;  // absent: /dev/null
  std::string stdout_path;                // instead of being captured
  bool close_stdin = false;
  bool close_stdout = false;
  bool terminal = false;         // stderr is a terminal of 80 columns
  bool stdout_terminal = false;  // so is stdout; what it shows is then a part of `err`
  std::string folder;            // where it runs; empty: a fresh one
};

// Sanitizers need time and memory of their own: what is measured then says nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMeasured = false;
#else
inline constexpr bool kMeasured = true;
#endif

struct Outcome {
  int exit_code = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out;
  std::string err;
  double seconds = 0;
  long peak_resident_kib = 0;
};

// A program that was started; Wait must be called once.
class Running {
 public:
  explicit Running(const Command& command);
  void Signal(int signal_number) const;
  // Waits until stdout (or stderr) has at least this many bytes; false after ten seconds.
  bool WaitForOutput(std::size_t bytes) const;
  Outcome Wait();

 private:
  std::string folder_;
  std::string out_path_;
  pid_t pid_ = -1;
  int terminal_ = -1;  // our end
  double started_ = 0;
};

Outcome RunVt(const Command& command);
Outcome RunVt(const std::vector<std::string>& args);
Outcome RunCaps(const std::vector<std::string>& args);  // vt-caps
Command CapsCommand(const std::vector<std::string>& args);
// A shell command in which $VT is vt-run and $CAPS vt-caps; exit code of the shell.
Outcome RunShell(const std::string& command);

// Writes `text` to a new file and returns its path.
std::string WriteTemp(const std::string& name, const std::string& text);
std::vector<std::string> Lines(const std::string& text);

// The last line of stderr as the vt.error/1 document's value of `key`, which is a string.
std::string ErrorField(const Outcome& outcome, const std::string& key);

}  // namespace vt::test
