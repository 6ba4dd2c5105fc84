// A child process (a fork of this one) that answers with bytes on a pipe.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "vt/status.h"

namespace vt {

class ChildAnswer {
 public:
  // Runs `answer` in the child, which writes what it returns and ends with exit code 0; 1 when
  // nobody reads. kDevice: no process could be made.
  static Result<ChildAnswer> Start(const std::function<std::string()>& answer);
  ChildAnswer(ChildAnswer&& other) noexcept;
  ChildAnswer& operator=(ChildAnswer&&) = delete;
  ~ChildAnswer();  // kills the child where Wait has not been called

  // Appends what comes within `wait_ms` (-1: whenever it comes). True: more may come.
  bool Read(std::string& bytes, int wait_ms);
  void Kill();
  // Waits for the end of the child and gives its status, as of waitpid.
  int Wait();

 private:
  ChildAnswer(pid_t child, int pipe) : child_(child), pipe_(pipe) {}

  pid_t child_;  // 0: it has been waited for
  int pipe_;
};

}  // namespace vt
