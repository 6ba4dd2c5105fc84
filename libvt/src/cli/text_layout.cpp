#include "cli/text_layout.h"

#include <algorithm>
#include <cstdio>

#include "base/json_writer.h"

namespace vt::cli {

std::string Printable(std::string_view text) {
  std::string printable = ValidUtf8(text);
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return printable;
}

std::string Hanging(std::string_view head, std::size_t column, std::string_view text) {
  std::string out(head);
  if (text.empty()) return out.append("\n");
  if (head.size() >= column) {
    out.append("\n").append(column, ' ');
  } else {
    out.append(column - head.size(), ' ');
  }
  const std::size_t room = kTextColumns - column;
  std::size_t at = 0;
  while (!text.empty()) {
    const std::size_t word = std::min({text.find(' '), text.size(), room});
    if (at > 0 && at + 1 + word > room) {
      out.append("\n").append(column, ' ');
      at = 0;
    } else if (at > 0) {
      out.push_back(' ');
      ++at;
    }
    out.append(text.substr(0, word));
    at += word;
    text.remove_prefix(word);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return out.append("\n");
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

std::string BytesText(std::uint64_t bytes) {
  char text[32];
  const double value = static_cast<double>(bytes);
  if (bytes >= std::uint64_t{1} << 30) {
    std::snprintf(text, sizeof text, "%.1f GiB", value / (1 << 30));
  } else if (bytes >= std::uint64_t{1} << 20) {
    std::snprintf(text, sizeof text, "%.1f MiB", value / (1 << 20));
  } else {
    std::snprintf(text, sizeof text, "%llu bytes", static_cast<unsigned long long>(bytes));
  }
  return text;
}

std::string ShortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

}  // namespace vt::cli
