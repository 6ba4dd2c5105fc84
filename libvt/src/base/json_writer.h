// Writes JSON text straight into a string: keys in the order of the calls, no tree in memory.
//
// Strings may hold any bytes; what is not UTF-8 becomes U+FFFD. Numbers that are not finite become
// null. Nesting and commas are kept by the writer; calling in a wrong order is the caller's bug.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vt {

// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);

  JsonWriter& Value(std::string_view text);
  JsonWriter& Value(const char* text) { return Value(std::string_view(text)); }
  JsonWriter& Value(const std::string& text) { return Value(std::string_view(text)); }
  JsonWriter& Value(bool value);
  JsonWriter& Value(double value);  // shortest text that reads back as the same number
  JsonWriter& Value(float value);
  template <std::integral T>
  JsonWriter& Value(T value) {
    if constexpr (std::signed_integral<T>) return Signed(value);
    return Unsigned(static_cast<std::uint64_t>(value));
  }
  template <class T>
  JsonWriter& Value(const std::optional<T>& value) {
    return value ? Value(*value) : Null();
  }
  JsonWriter& Null();
  // A value that is JSON text already.
  JsonWriter& Raw(std::string_view json);

  template <class T>
  JsonWriter& Field(std::string_view key, const T& value) {
    return Key(key).Value(value);
  }

  // What has been written since the last Take; nesting goes on, so a long document may be taken in
  // parts.
  std::string Take();
  std::size_t size() const { return text_.size(); }

 private:
  JsonWriter& Signed(std::int64_t value);
  JsonWriter& Unsigned(std::uint64_t value);
  void Separate();

  std::string text_;
  std::vector<bool> has_members_;  // of each open object or array
  bool after_key_ = false;
};

}  // namespace vt
