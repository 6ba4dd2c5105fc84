#include "base/text_layout.h"

#include <algorithm>
#include <cstdio>

#include "base/json_writer.h"

namespace vt {

std::string Printable(std::string_view text) {
  std::string printable = ValidUtf8(text);
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return printable;
}

std::string Wrapped(std::string_view text, std::size_t first, std::size_t indent) {
  const std::size_t room = kTextColumns - indent;
  std::string out;
  std::size_t at = first;
  bool begun = false;  // a word is on this line
  while (!text.empty()) {
    const std::size_t word = std::min({text.find(' '), text.size(), room});
    if (begun && at + 1 + word > kTextColumns) {
      out.append("\n").append(indent, ' ');
      at = indent;
    } else if (begun) {
      out.push_back(' ');
      ++at;
    }
    out.append(text.substr(0, word));
    at += word;
    begun = true;
    text.remove_prefix(word);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return out.append("\n");
}

std::string Hanging(std::string_view head, std::size_t column, std::string_view text) {
  std::string out(head);
  if (text.empty()) return out.append("\n");
  if (head.size() >= column) {
    out.append("\n").append(column, ' ');
  } else {
    out.append(column - head.size(), ' ');
  }
  return out.append(Wrapped(text, column, column));
}

std::string Left(std::string_view text, std::size_t width) {
  std::string cell(text.substr(0, width));
  if (text.size() > width) cell.back() = '~';
  cell.resize(width, ' ');
  return cell;
}

std::string Right(std::string_view text, std::size_t width) {
  std::string cell(text.substr(0, width));
  if (text.size() > width) cell.back() = '~';
  return std::string(width - cell.size(), ' ') + cell;
}

std::string ShortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

}  // namespace vt
