#include "cli/json_writer.h"

#include <charconv>
#include <cmath>

namespace vt::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the valid UTF-8 character that starts `text`, 0 when there is none.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and code points above U+10FFFF.
  const unsigned second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return bytes;
}

void AppendEscaped(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      out.append(kReplacement);
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
    out.append(bytes == 0 ? kReplacement : text.substr(0, bytes));
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

}  // namespace vt::cli
