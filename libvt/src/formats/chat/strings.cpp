#include "formats/chat/strings.h"

#include <algorithm>

#include "formats/chat/budget.h"
#include "formats/chat/call.h"
#include "formats/chat/print.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

bool HasChar(std::string_view chars, char32_t c) {
  for (std::size_t i = 0; i < chars.size();) {
    const Decoded d = DecodeAt(chars, i);
    if (d.c == c) return true;
    i += d.bytes;
  }
  return false;
}

std::string ReplaceBetweenChars(std::string_view text, std::string_view to, Int count) {
  std::string out;
  std::size_t at = 0;
  Int done = 0;
  while (count < 0 || done < count) {
    out += to;
    CheckBytes(out.size());
    ++done;
    if (at >= text.size()) return out;
    const std::size_t bytes = DecodeAt(text, at).bytes;
    out += text.substr(at, bytes);
    at += bytes;
  }
  return out.append(text.substr(at));
}

void CheckSeparator(const std::string* separator) {
  if (separator && separator->empty()) Fail("empty separator");
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out.push_back(c);
    }
  }
  ChargeBytes(out.size());
  return out;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to,
                       Int count) {
  ChargeBytes(text.size());
  if (from.empty()) return ReplaceBetweenChars(text, to, count);
  std::string out;
  std::size_t at = 0;
  for (Int done = 0; count < 0 || done < count; ++done) {
    const std::size_t found = text.find(from, at);
    if (found == std::string_view::npos) break;
    out += text.substr(at, found - at);
    out += to;
    CheckBytes(out.size());
    at = found + from.size();
  }
  out += text.substr(at);
  ChargeBytes(out.size());
  return out;
}

std::vector<std::string_view> SplitLines(std::string_view text, bool keep) {
  ChargeBytes(text.size());
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    std::size_t next = text.size();
    while (end < text.size()) {
      const Decoded d = DecodeAt(text, end);
      if (IsLineBreak(d.c)) {
        next = end + d.bytes;
        if (d.c == '\r' && next < text.size() && text[next] == '\n') ++next;
        break;
      }
      end += d.bytes;
    }
    lines.push_back(text.substr(at, (keep ? next : end) - at));
    at = next;
  }
  return lines;
}

std::vector<std::string_view> Split(std::string_view text, const std::string* separator,
                                    Int limit) {
  CheckSeparator(separator);
  ChargeBytes(text.size());
  std::vector<std::string_view> parts;
  if (separator) {
    while (limit < 0 || static_cast<Int>(parts.size()) < limit) {
      const std::size_t found = text.find(*separator);
      if (found == std::string_view::npos) break;
      parts.push_back(text.substr(0, found));
      text.remove_prefix(found + separator->size());
    }
    parts.push_back(text);
    return parts;
  }
  text = StripLeft(text);
  while (!text.empty()) {
    if (limit >= 0 && static_cast<Int>(parts.size()) >= limit) {
      parts.push_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size() && !IsSpace(DecodeAt(text, end).c)) end += DecodeAt(text, end).bytes;
    parts.push_back(text.substr(0, end));
    text = StripLeft(text.substr(end));
  }
  return parts;
}

std::vector<std::string_view> SplitRight(std::string_view text, const std::string* separator,
                                         Int limit) {
  CheckSeparator(separator);
  ChargeBytes(text.size());
  std::vector<std::string_view> parts;
  if (separator) {
    while (limit < 0 || static_cast<Int>(parts.size()) < limit) {
      const std::size_t found = text.rfind(*separator);
      if (found == std::string_view::npos) break;
      parts.push_back(text.substr(found + separator->size()));
      text = text.substr(0, found);
    }
    parts.push_back(text);
  } else {
    text = StripRight(text);
    while (!text.empty()) {
      if (limit >= 0 && static_cast<Int>(parts.size()) >= limit) {
        parts.push_back(text);
        break;
      }
      std::size_t start = text.size();
      while (start > 0 && !IsSpace(DecodeAt(text, PreviousChar(text, start)).c)) {
        start = PreviousChar(text, start);
      }
      parts.push_back(text.substr(start));
      text = StripRight(text.substr(0, start));
    }
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::string_view Strip(std::string_view text, const std::string* chars, bool left, bool right) {
  ChargeBytes(text.size());
  if (!chars) {
    if (left) text = StripLeft(text);
    return right ? StripRight(text) : text;
  }
  while (left && !text.empty()) {
    const Decoded d = DecodeAt(text, 0);
    if (!HasChar(*chars, d.c)) break;
    text.remove_prefix(d.bytes);
  }
  while (right && !text.empty()) {
    const std::size_t last = PreviousChar(text, text.size());
    if (!HasChar(*chars, DecodeAt(text, last).c)) break;
    text = text.substr(0, last);
  }
  return text;
}

CharRange SliceChars(std::string_view text, const Value& start, const Value& stop) {
  const bool has_start = !start.missing() && !start.none();
  const bool has_stop = !stop.missing() && !stop.none();
  if (!has_start && !has_stop) return {text, 0, false};
  const Int length = static_cast<Int>(CountChars(text));
  const auto clamp = [&](const Value& v) {
    Int i = IntArg("slice", v);
    if (i < 0) i = std::max<Int>(i + length, 0);
    return i;
  };
  const Int first = has_start ? clamp(start) : 0;
  const Int last = has_stop ? std::min(clamp(stop), length) : length;
  CharRange range;
  range.past_end = first > last;
  if (first >= last) {
    range.offset = ByteOffset(text, static_cast<std::size_t>(std::min(first, length)));
    range.text = text.substr(range.offset, 0);
    return range;
  }
  range.offset = ByteOffset(text, static_cast<std::size_t>(first));
  range.text = text.substr(range.offset);
  range.text = range.text.substr(0, ByteOffset(range.text, static_cast<std::size_t>(last - first)));
  return range;
}

std::string Join(std::string_view separator, const Items& items, bool only_strings) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += separator;
    if (only_strings && !items[i].is_string()) {
      Fail("sequence item " + std::to_string(i) + ": expected str instance, " + TypeName(items[i]) +
           " found");
    }
    AppendStr(out, items[i]);
    CheckBytes(out.size());
  }
  ChargeBytes(out.size());
  return out;
}

std::string Pad(std::string_view text, std::size_t left, std::size_t right, std::string_view fill) {
  CheckBytes(left);
  CheckBytes(right);
  ChargeBytes(text.size() + (left + right) * fill.size());
  std::string out;
  for (std::size_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (std::size_t i = 0; i < right; ++i) out += fill;
  return out;
}

bool HasOnlyCase(std::string_view text, bool upper) {
  ChargeBytes(text.size());
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    if (IsTitle(d.c) || (upper ? IsLower(d.c) : IsUpper(d.c))) return false;
    any = any || (upper ? IsUpper(d.c) : IsLower(d.c));
    i += d.bytes;
  }
  return any;
}

}  // namespace vt::chat
