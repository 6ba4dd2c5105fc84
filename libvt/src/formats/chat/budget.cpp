#include "formats/chat/budget.h"

#include <utility>

namespace vt::chat {
namespace {

constexpr std::size_t kBytesPerStep = 64;
thread_local Budget* current = nullptr;

}  // namespace

void Fail(std::string message) { throw TemplateError{std::move(message), 0, false}; }

Budget::Budget(std::uint64_t max_steps, std::uint64_t max_bytes)
    : max_steps_(max_steps), max_bytes_(max_bytes) {
  current = this;
}

Budget::~Budget() { current = nullptr; }

void ChargeSteps(std::uint64_t count) {
  if (!current) return;
  current->steps_ += count;
  if (current->steps_ > current->max_steps_) {
    Fail("the template takes more than " + std::to_string(current->max_steps_) +
         " steps; shorten the conversation or raise the limit");
  }
}

void CheckBytes(std::size_t bytes) {
  if (current && bytes > current->max_bytes_) {
    Fail("a text of " + std::to_string(bytes) + " bytes is above the limit of " +
         std::to_string(current->max_bytes_));
  }
}

void ChargeBytes(std::size_t bytes) {
  CheckBytes(bytes);
  ChargeSteps(bytes / kBytesPerStep);
}

}  // namespace vt::chat
