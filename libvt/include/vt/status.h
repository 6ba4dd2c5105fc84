// Status and Result<T>: how every fallible function of libvt reports.
//
// libvt never prints, aborts or exits. A message reads "subject: what is wrong (value seen, value
// allowed); what to do next".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace vt {

enum class Code {
  kOk,
  kNo,           // a true "no": does not fit, golden differs
  kInvalid,      // bad usage or input document
  kNotFound,     // a named thing (device, file the user gave) that is not there
  kCorrupt,      // model file that is damaged, hostile, missing or unreadable
  kUnsupported,  // architecture, format or kernel that this build or machine lacks
  kNoMemory,
  kDevice,       // a device call failed
  kInternal,     // a bug of ours
  kInterrupted,  // cancelled by the user
};

std::string_view CodeName(Code code);  // "invalid", "corrupt", ...
int ExitCode(Code code);               // the process exit code, the same in all tools

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string at = {})
      : code_(code), message_(std::move(message)), at_(std::move(at)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& at() const { return at_; }  // JSON pointer or file, may be empty

  // The same error with "context: " before its message.
  Status Annotate(std::string_view context) const {
    return ok() ? *this : Status(code_, std::string(context) + ": " + message_, at_);
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
  std::string at_;
};

inline Status InvalidError(std::string m) { return {Code::kInvalid, std::move(m)}; }
inline Status CorruptError(std::string m) { return {Code::kCorrupt, std::move(m)}; }
inline Status UnsupportedError(std::string m) { return {Code::kUnsupported, std::move(m)}; }
inline Status NoMemoryError(std::string m) { return {Code::kNoMemory, std::move(m)}; }
inline Status InternalError(std::string m) { return {Code::kInternal, std::move(m)}; }

// A value or the Status that says why there is none. value() of an error is a bug of the caller.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace vt

#define VT_CONCAT_INNER(a, b) a##b
#define VT_CONCAT(a, b) VT_CONCAT_INNER(a, b)

// Returns the error of `expr` (a Status) from the enclosing function.
#define VT_RETURN_IF_ERROR(expr)                                               \
  do {                                                                         \
    if (::vt::Status vt_status_ = (expr); !vt_status_.ok()) return vt_status_; \
  } while (false)

// VT_ASSIGN_OR_RETURN(auto x, MakeX()): x is the value, or the error is returned.
#define VT_ASSIGN_OR_RETURN(lhs, expr) \
  VT_ASSIGN_OR_RETURN_INNER(VT_CONCAT(vt_result_, __LINE__), lhs, expr)
#define VT_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                              \
  if (!result.ok()) return result.status();          \
  lhs = std::move(result).value()
