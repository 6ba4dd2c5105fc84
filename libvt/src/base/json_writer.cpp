#include "base/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace vt {
namespace {

// Bytes of the valid UTF-8 character that starts `text`, 0 when there is none.
std::size_t CharacterBytes(std::string_view text) {
  const Utf8Char c = ReadUtf8(text, 0);
  return c.status == Utf8Status::kValid ? c.length : 0;
}

void AppendEscaped(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      out.append(kReplacementUtf8);
      text.remove_prefix(1);
      continue;
    }
    const char c = text[0];
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (c == '\r') {
      out.append("\\r");
    } else if (bytes == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)) {
      out.append("\\u00");
      out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out.push_back(kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      out.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes);
  }
  out.push_back('"');
}

template <class T>
void AppendNumber(std::string& out, T value) {
  char digits[32];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    out.append(bytes == 0 ? kReplacementUtf8 : text.substr(0, bytes));
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty()) return;
  if (has_members_.back()) text_.push_back(',');
  has_members_.back() = true;
}

JsonWriter& JsonWriter::BeginObject() {
  Separate();
  text_.push_back('{');
  has_members_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  text_.push_back('}');
  has_members_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  Separate();
  text_.push_back('[');
  has_members_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  text_.push_back(']');
  has_members_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  Separate();
  AppendEscaped(text_, key);
  text_.push_back(':');
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::Value(std::string_view text) {
  Separate();
  AppendEscaped(text_, text);
  return *this;
}

JsonWriter& JsonWriter::Value(bool value) { return Raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::Value(double value) {
  if (!std::isfinite(value)) return Null();
  Separate();
  AppendNumber(text_, value);
  return *this;
}

JsonWriter& JsonWriter::Value(float value) {
  if (!std::isfinite(value)) return Null();
  Separate();
  AppendNumber(text_, value);
  return *this;
}

JsonWriter& JsonWriter::Signed(std::int64_t value) {
  Separate();
  AppendNumber(text_, value);
  return *this;
}

JsonWriter& JsonWriter::Unsigned(std::uint64_t value) {
  Separate();
  AppendNumber(text_, value);
  return *this;
}

JsonWriter& JsonWriter::Null() { return Raw("null"); }

JsonWriter& JsonWriter::Raw(std::string_view json) {
  Separate();
  text_.append(json);
  return *this;
}

std::string JsonWriter::Take() {
  std::string taken = std::move(text_);
  text_.clear();
  return taken;
}

}  // namespace vt
