// Reading members of a JSON document, each failure with its pointer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt {

// ParseJson, whose syntax errors name the byte (from 0) at which reading stopped, and say when that
// is the end of the text.
Result<nlohmann::ordered_json> ParseJsonWithByte(std::string_view text);

// The JSON pointer (RFC 6901) of a member.
std::string Below(const std::string& at, std::string_view key);
std::string Below(const std::string& at, std::size_t index);

// A whole number that a token id can be: 0 to 2^31 - 1.
bool IsTokenId(const nlohmann::ordered_json& value);
// Whether it is finite as a float, as logits are.
bool IsFloat(double value);

// `from` is an object; the results point into it.
Result<const nlohmann::ordered_json*> Member(const nlohmann::ordered_json& from, const char* key,
                                             const std::string& at);
Result<const nlohmann::ordered_json*> ArrayOf(const nlohmann::ordered_json& from, const char* key,
                                              const std::string& at);
Result<std::string> StringOf(const nlohmann::ordered_json& from, const char* key,
                             const std::string& at);
// Nothing for null or absent.
Result<std::optional<std::string>> OptionalString(const nlohmann::ordered_json& from,
                                                  const char* key, const std::string& at);

}  // namespace vt
