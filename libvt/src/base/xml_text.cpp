#include "base/xml_text.h"

#include "base/json_writer.h"

namespace vt {

std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out.push_back(static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c);
    }
  }
  return out;
}

}  // namespace vt
