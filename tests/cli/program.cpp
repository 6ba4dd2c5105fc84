#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/test_files.h"

namespace vt::test {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Redirect(int descriptor, const std::string& path, int flags) {
  const int opened = open(path.c_str(), flags, 0666);
  if (opened < 0 || dup2(opened, descriptor) < 0) _exit(126);
  if (opened != descriptor) close(opened);
}

}  // namespace

Running::Running(const Command& command)
    : folder_(command.folder.empty() ? TempDir() : command.folder),
      out_path_(command.stdout_path.empty() ? folder_ + "/stdout" : command.stdout_path) {
  const std::string in_path = command.stdin_text ? folder_ + "/stdin" : "/dev/null";
  if (command.stdin_text) std::ofstream(in_path, std::ios::binary) << *command.stdin_text;
  std::vector<std::string> args = command.args;
  args.insert(args.begin(), command.program.empty() ? VT_RUN_BINARY : command.program);
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const std::string err_path = folder_ + "/stderr";
  int terminal_end = -1;
  if (command.terminal || command.stdout_terminal) {
    winsize size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&terminal_, &terminal_end, nullptr, nullptr, &size), 0);
    setenv("TERM", "xterm", 1);
  }
  // Both are there even if a signal ends the process at once.
  for (const std::string& path : {out_path_, err_path}) std::ofstream(path, std::ios::app);
  int started[2];  // its write end closes when the process has become vt-run
  EXPECT_EQ(pipe2(started, O_CLOEXEC), 0);
  started_ = Now();
  pid_ = fork();
  if (pid_ == 0) {
    if (chdir(folder_.c_str()) != 0) _exit(126);
    Redirect(0, in_path, O_RDONLY);
    Redirect(1, out_path_, O_WRONLY | O_CREAT | O_TRUNC);
    Redirect(2, err_path, O_WRONLY | O_CREAT | O_TRUNC);
    if (terminal_end >= 0) dup2(terminal_end, 2);
    if (command.stdout_terminal) dup2(terminal_end, 1);
    if (command.close_stdin) close(0);
    if (command.close_stdout) close(1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  if (terminal_end >= 0) close(terminal_end);
  close(started[1]);
  char none;
  EXPECT_EQ(read(started[0], &none, 1), 0);
  close(started[0]);
}

void Running::Signal(int signal_number) const { kill(pid_, signal_number); }

bool Running::WaitForOutput(std::size_t bytes) const {
  const double give_up = Now() + 10;
  while (Now() < give_up) {
    struct stat out = {};
    if (stat(out_path_.c_str(), &out) == 0 && static_cast<std::size_t>(out.st_size) >= bytes) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

Outcome Running::Wait() {
  Outcome outcome;
  // A terminal holds little: it is read until the program is gone.
  if (terminal_ >= 0) {
    char block[4096];
    for (ssize_t got; (got = read(terminal_, block, sizeof block)) > 0;) {
      outcome.err.append(block, static_cast<std::size_t>(got));
    }
    close(terminal_);
  }
  int status = 0;
  rusage usage = {};
  wait4(pid_, &status, 0, &usage);
  outcome.seconds = Now() - started_;
  outcome.peak_resident_kib = usage.ru_maxrss;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (out_path_ == folder_ + "/stdout") outcome.out = ReadFile(out_path_);
  if (terminal_ < 0) outcome.err = ReadFile(folder_ + "/stderr");
  return outcome;
}

Outcome RunVt(const Command& command) { return Running(command).Wait(); }

Outcome RunVt(const std::vector<std::string>& args) {
  Command command;
  command.args = args;
  return RunVt(command);
}

Command CapsCommand(const std::vector<std::string>& args) {
  Command command;
  command.program = VT_CAPS_BINARY;
  command.args = args;
  return command;
}

Outcome RunCaps(const std::vector<std::string>& args) { return RunVt(CapsCommand(args)); }

Outcome RunShell(const std::string& command) {
  const std::string folder = TempDir();
  const std::string line = "cd '" + folder + "' && export VT='" + VT_RUN_BINARY + "' CAPS='" +
                           VT_CAPS_BINARY + "' && ( " + command + " ) >stdout 2>stderr </dev/null";
  const double started = Now();
  const int status = std::system(line.c_str());
  Outcome outcome;
  outcome.seconds = Now() - started;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  outcome.out = ReadFile(folder + "/stdout");
  outcome.err = ReadFile(folder + "/stderr");
  return outcome;
}

std::string WriteTemp(const std::string& name, const std::string& text) {
  const std::string path = TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text.substr(at, end - at));
  }
  if (at < text.size()) lines.push_back(text.substr(at));
  return lines;
}

std::string ErrorField(const Outcome& outcome, const std::string& key) {
  const std::vector<std::string> lines = Lines(outcome.err);
  if (lines.empty()) {
    ADD_FAILURE() << "stderr is empty";
    return {};
  }
  const nlohmann::json document = nlohmann::json::parse(lines.back(), nullptr, false);
  if (!document.is_object() || !document.contains(key)) {
    ADD_FAILURE() << "no error document with " << key << " in: " << outcome.err;
    return {};
  }
  return document[key].is_string() ? document[key].get<std::string>() : document[key].dump();
}

}  // namespace vt::test
