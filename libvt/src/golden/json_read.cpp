#include "golden/json_read.h"

#include <cmath>
#include <limits>

#include "base/json.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

// Remembers where the parser gave up; makes nothing.
class SyntaxErrorPlace : public nlohmann::json_sax<ordered_json> {
 public:
  std::size_t byte = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    byte = position > 0 ? position - 1 : 0;
    return false;
  }
};

}  // namespace

Result<ordered_json> ParseJsonWithByte(std::string_view text) {
  Result<ordered_json> parsed = ParseJson(text);
  if (parsed.ok()) return parsed;
  SyntaxErrorPlace place;
  if (ordered_json::sax_parse(text.begin(), text.end(), &place)) return parsed;
  std::string where =
      "at byte " + std::to_string(place.byte) + " of " + std::to_string(text.size());
  if (place.byte >= text.size()) where += ", where the text ends (was it cut off?)";
  return Status(Code::kInvalid, "JSON " + where + ": " + parsed.status().message());
}

std::string Below(const std::string& at, std::string_view key) {
  std::string out = at + "/";
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}
std::string Below(const std::string& at, std::size_t index) {
  return at + "/" + std::to_string(index);
}

bool IsTokenId(const ordered_json& value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= kMost;
  // Numbers made in memory and not read from text are signed.
  return value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
         value.get<std::int64_t>() <= static_cast<std::int64_t>(kMost);
}

bool IsFloat(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

Result<const ordered_json*> Member(const ordered_json& from, const char* key,
                                   const std::string& at) {
  const auto found = from.find(key);
  if (found == from.end()) return JsonError(Below(at, key), "is missing");
  return &*found;
}

Result<const ordered_json*> ArrayOf(const ordered_json& from, const char* key,
                                    const std::string& at) {
  VT_ASSIGN_OR_RETURN(const ordered_json* value, Member(from, key, at));
  if (!value->is_array()) return JsonError(Below(at, key), "must be an array");
  return value;
}

Result<std::string> StringOf(const ordered_json& from, const char* key, const std::string& at) {
  VT_ASSIGN_OR_RETURN(const ordered_json* value, Member(from, key, at));
  if (!value->is_string()) return JsonError(Below(at, key), "must be a string");
  return value->get<std::string>();
}

Result<std::optional<std::string>> OptionalString(const ordered_json& from, const char* key,
                                                  const std::string& at) {
  const auto found = from.find(key);
  if (found == from.end() || found->is_null()) return std::optional<std::string>();
  if (!found->is_string()) return JsonError(Below(at, key), "must be a string or null");
  return std::optional<std::string>(found->get<std::string>());
}

}  // namespace vt
