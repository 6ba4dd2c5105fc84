// Reads JSON (RFC 8259) value by value, in the order of the text, without building a tree: for
// files of many megabytes whose form is known.
//
// Strict: UTF-8, no trailing commas, no comments; nesting up to 64. After an error every read fails
// and error() says what was wrong first and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/text_arena.h"

namespace vt {

class JsonCursor {
 public:
  enum class Kind { kObject, kArray, kString, kNumber, kBool, kNull, kError };

  // Strings that are read point into `text` or, where they have escapes, into `arena`.
  JsonCursor(std::string_view text, TextArena& arena) : text_(text), arena_(&arena) {}

  Kind Peek();  // of the value that comes next

  bool EnterObject();
  // The next key of the object that was entered last; its value must be read before the next call.
  // False after the last, which leaves the object, and on errors.
  bool NextKey(std::string_view& key);
  bool EnterArray();
  bool NextElement();  // the same for arrays

  bool ReadString(std::string_view& value);
  bool ReadU64(std::uint64_t& value);  // digits only, no sign, fraction or exponent
  bool ReadNumber(double& value);
  bool ReadBool(bool& value);
  bool Skip();    // any value
  bool Finish();  // nothing but white space is left

  bool failed() const { return !error_.empty(); }
  // "what (byte N)".
  const std::string& error() const { return error_; }
  std::size_t at() const { return at_; }
  // Records an error of the caller's own, at the place of the last read.
  bool Fail(const std::string& what);

 private:
  void SkipSpace();
  bool Want(char c, const char* what);
  bool Literal(std::string_view word);
  bool Number(std::string_view& digits);
  bool Unescape(std::size_t begin, std::size_t end, std::string_view& value);
  bool Next(char close);

  std::string_view text_;
  TextArena* arena_;
  std::size_t at_ = 0;
  std::vector<bool> begun_;  // by nesting: whether a comma must come before the next entry
  std::string error_;
};

}  // namespace vt
