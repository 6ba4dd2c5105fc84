// The work allowance of the render that runs on this thread, and the error that ends a render.
//
// Every piece of work that a template can make large (loop turns, items copied, bytes written,
// values compared) is charged here, so a hostile template ends with an error instead of a hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vt::chat {

// Thrown inside the engine only; ChatTemplate turns it into a Status.
struct TemplateError {
  std::string message;
  int line = 0;         // 0: where the interpreter stands
  bool raised = false;  // by raise_exception: the message is the template author's
};

[[noreturn]] void Fail(std::string message);

// Installs an allowance for the lifetime of the object. One per thread at a time.
class Budget {
 public:
  Budget(std::uint64_t max_steps, std::uint64_t max_bytes);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

 private:
  friend void ChargeSteps(std::uint64_t count);
  friend void ChargeBytes(std::size_t bytes);
  friend void CheckBytes(std::size_t bytes);
  std::uint64_t max_steps_;
  std::uint64_t max_bytes_;
  std::uint64_t steps_ = 0;
};

// These fail when the allowance is spent, and do nothing outside a render. ChargeBytes is for a
// string of that many bytes about to be made: it costs steps, and must not be above the output
// limit by itself. CheckBytes is for a string that grows.
void ChargeSteps(std::uint64_t count);
void ChargeBytes(std::size_t bytes);
void CheckBytes(std::size_t bytes);

}  // namespace vt::chat
