#include "formats/file_error.h"

#include <cstddef>

namespace vt {

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte > 0x7e) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  if (text.size() > kShown) out += "...";
  out += '"';
  return out;
}

Status FileCorrupt(const std::string& path, const std::string& what) {
  return {Code::kCorrupt, path + ": " + what, path};
}

Status FileUnsupported(const std::string& path, const std::string& what) {
  return {Code::kUnsupported, path + ": " + what, path};
}

}  // namespace vt
