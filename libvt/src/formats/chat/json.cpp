// Values as JSON, byte for byte as Python's json.dumps writes them.
#include <cmath>
#include <cstdio>

#include "formats/chat/budget.h"
#include "formats/chat/compare.h"
#include "formats/chat/print.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

class JsonWriter {
 public:
  explicit JsonWriter(const JsonOptions& options) : options_(options) {}

  void Write(const Value& v) {
    ChargeSteps(1);
    CheckBytes(out_.size());
    switch (v.type()) {
      case Type::kNone:
        out_ += "null";
        return;
      case Type::kBool:
        out_ += v.boolean() ? "true" : "false";
        return;
      case Type::kInt:
        out_ += FormatInt(v.integer());
        return;
      case Type::kFloat:
        out_ += Number(v.number());
        return;
      case Type::kString:
        WriteString(v.str());
        return;
      case Type::kDict:
        return WriteDict(v.dict());
      case Type::kSeq:
        if (v.seq().kind <= SeqKind::kGroup) return WriteList(v.seq().items);
        break;
      default:
        break;
    }
    Fail(std::string("Object of type ") + TypeName(v) + " is not JSON serializable");
  }

  std::string Take() { return std::move(out_); }

 private:
  static std::string Number(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return ReprFloat(d);
  }

  void NewLine() {
    if (!options_.multi_line) return;
    out_ += "\n";
    for (int i = 0; i < level_; ++i) out_ += options_.indent;
    CheckBytes(out_.size());
  }

  void WriteList(const std::vector<Value>& items) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += "[";
    ++level_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += options_.item_separator;
      NewLine();
      Write(items[i]);
    }
    --level_;
    NewLine();
    out_ += "]";
  }

  void WriteKey(const Value& key) {
    switch (key.type()) {
      case Type::kString:
        return WriteString(key.str());
      case Type::kNone:
        return WriteString("null");
      case Type::kBool:
        return WriteString(key.boolean() ? "true" : "false");
      case Type::kInt:
        return WriteString(FormatInt(key.integer()));
      case Type::kFloat:
        return WriteString(Number(key.number()));
      default:
        Fail(std::string("keys must be str, int, float, bool or None, not ") + TypeName(key));
    }
  }

  void WriteDict(const Dict& dict) {
    if (dict.size() == 0) {
      out_ += "{}";
      return;
    }
    std::vector<std::size_t> order;
    if (options_.sort_keys) {
      std::vector<Value> keys;
      for (const Dict::Item& item : dict.items()) keys.push_back(item.first);
      order = SortedOrder(keys, false);
    }
    out_ += "{";
    ++level_;
    for (std::size_t i = 0; i < dict.size(); ++i) {
      const auto& [key, value] = dict.items()[order.empty() ? i : order[i]];
      if (i > 0) out_ += options_.item_separator;
      NewLine();
      WriteKey(key);
      out_ += options_.key_separator;
      Write(value);
    }
    --level_;
    NewLine();
    out_ += "}";
  }

  void WriteEscape(char32_t c) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
    out_ += buffer;
  }

  void WriteString(std::string_view text) {
    ChargeBytes(text.size());
    out_ += '"';
    for (std::size_t i = 0; i < text.size();) {
      const auto [c, bytes] = DecodeAt(text, i);
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += static_cast<char>(c);
      } else if (c == '\n') {
        out_ += "\\n";
      } else if (c == '\r') {
        out_ += "\\r";
      } else if (c == '\t') {
        out_ += "\\t";
      } else if (c == '\f') {
        out_ += "\\f";
      } else if (c == '\b') {
        out_ += "\\b";
      } else if (c < 0x20 || (options_.ensure_ascii && c >= 0x7F && c < 0x10000)) {
        WriteEscape(c);
      } else if (options_.ensure_ascii && c >= 0x10000) {
        WriteEscape(0xD800 + ((c - 0x10000) >> 10));
        WriteEscape(0xDC00 + ((c - 0x10000) & 0x3FF));
      } else {
        out_ += text.substr(i, bytes);
      }
      i += bytes;
    }
    out_ += '"';
  }

  const JsonOptions& options_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

std::string DumpJson(const Value& v, const JsonOptions& options) {
  JsonWriter writer(options);
  writer.Write(v);
  return writer.Take();
}

}  // namespace vt::chat
