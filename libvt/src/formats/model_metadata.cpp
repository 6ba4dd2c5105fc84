// The metadata of a model file as JSON.
#include <bit>
#include <cmath>

#include "base/utf8.h"
#include "formats/gguf_header.h"
#include "formats/model_document.h"

namespace vt {
namespace {

// JSON has no such numbers.
template <class T>
void WriteReal(JsonWriter& json, T value) {
  if (std::isfinite(value)) {
    json.Value(value);
  } else {
    json.Value(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
}

void WriteScalar(JsonWriter& json, GgufType type, std::uint64_t bits) {
  switch (type) {
    case GgufType::kBool:
      json.Value(bits != 0);
      return;
    case GgufType::kF32:
      WriteReal(json, std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      return;
    case GgufType::kF64:
      WriteReal(json, std::bit_cast<double>(bits));
      return;
    case GgufType::kI8:
    case GgufType::kI16:
    case GgufType::kI32:
    case GgufType::kI64:
      json.Value(static_cast<std::int64_t>(bits));
      return;
    default:
      json.Value(bits);
      return;
  }
}

void WriteArray(JsonWriter& json, const GgufValue& value) {
  if (value.element_type == GgufType::kString || value.count > kDescribedElements) {
    json.Null();
    return;
  }
  const std::uint64_t bytes = BytesOf(value.element_type);
  json.BeginArray();
  for (std::uint64_t i = 0; i < value.count; ++i) {
    WriteScalar(json, value.element_type, LoadBits(value.element_type, value.data + i * bytes));
  }
  json.EndArray();
}

void WriteString(JsonWriter& json, std::string_view text) {
  if (text.size() >= kDescribedStringBytes || ValidUtf8Prefix(text) != text.size()) {
    json.Null();
  } else {
    json.Value(text);
  }
}

}  // namespace

void WriteMetadata(JsonWriter& json, const GgufFile& file) {
  json.Key("metadata").BeginArray();
  for (const auto& [key, value] : file.metadata()) {
    const bool text = value.type == GgufType::kString;
    json.BeginObject().Field("key", key).Field("type", NameOf(value.type));
    json.Key("of");
    if (value.is_array()) {
      json.Value(NameOf(value.element_type));
    } else {
      json.Null();
    }
    json.Field("count", value.is_array() ? std::optional(value.count) : std::nullopt);
    json.Field("bytes", text ? std::optional(value.text.size()) : std::nullopt);
    json.Key("value");
    if (value.is_array()) {
      WriteArray(json, value);
    } else if (text) {
      WriteString(json, value.text);
    } else {
      WriteScalar(json, value.type, value.bits);
    }
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace vt
