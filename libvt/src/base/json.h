// JSON and other text that users write: read whole, parsed strictly.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt {

// All bytes of a file, or of stdin for "-". kNotFound or kInvalid names the file and the reason;
// kInterrupted when `interrupted` was set while waiting.
Result<std::string> ReadInput(const std::string& path, const std::atomic<bool>& interrupted);

// Parses one JSON value, the whole of `text`. kInvalid: a syntax error with its place, a key that
// is twice in one object, nesting deeper than 200.
Result<nlohmann::ordered_json> ParseJson(std::string_view text);

// kInvalid at `pointer`: "pointer: message".
Status JsonError(const std::string& pointer, const std::string& message);

}  // namespace vt
