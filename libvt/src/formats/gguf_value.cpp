// Metadata values: names, conversions and typed reads.

#include <bit>
#include <cstring>
#include <limits>

#include "formats/file_error.h"
#include "formats/gguf_header.h"

namespace vt {
namespace {

struct TypeRow {
  std::string_view name;
  std::uint64_t bytes;
};

// By GgufType.
constexpr TypeRow kTypes[] = {{"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2},    {"u32", 4},
                              {"i32", 4}, {"f32", 4}, {"bool", 1}, {"string", 0}, {"array", 0},
                              {"u64", 8}, {"i64", 8}, {"f64", 8}};

bool IsSigned(GgufType type) {
  return type == GgufType::kI8 || type == GgufType::kI16 || type == GgufType::kI32 ||
         type == GgufType::kI64;
}

bool IsInteger(GgufType type) {
  return IsSigned(type) || type == GgufType::kU8 || type == GgufType::kU16 ||
         type == GgufType::kU32 || type == GgufType::kU64;
}

// The bits of a packed element, extended as GgufValue::bits wants them.
template <class T>
std::uint64_t Extend(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (std::numeric_limits<T>::is_signed) {
    return static_cast<std::uint64_t>(std::int64_t{value});
  } else {
    return value;
  }
}

// A scalar with the value of element i; nullopt when there is none.
std::optional<GgufValue> Element(const GgufValue& array, std::uint64_t i) {
  if (!array.is_array() || i >= array.count || !array.data) return std::nullopt;
  const std::uint64_t bytes = BytesOf(array.element_type);
  if (bytes == 0) return std::nullopt;
  GgufValue value;
  value.type = array.element_type;
  value.bits = LoadBits(array.element_type, array.data + i * bytes);
  return value;
}

Status WrongType(const std::string& path, std::string_view key, const GgufValue& value,
                 std::string_view wanted) {
  return FileCorrupt(path, "key " + Quoted(key) + ": type " + DescribeType(value) + " (want " +
                               std::string(wanted) +
                               "); the file was written wrongly, convert it again");
}

}  // namespace

std::string_view NameOf(GgufType type) {
  const auto id = static_cast<std::size_t>(type);
  return id < std::size(kTypes) ? kTypes[id].name : "unknown";
}

std::uint64_t BytesOf(GgufType type) {
  const auto id = static_cast<std::size_t>(type);
  return id < std::size(kTypes) ? kTypes[id].bytes : 0;
}

std::uint64_t LoadBits(GgufType type, const std::byte* from) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kBool:
      return Extend<std::uint8_t>(from);
    case GgufType::kI8:
      return Extend<std::int8_t>(from);
    case GgufType::kU16:
      return Extend<std::uint16_t>(from);
    case GgufType::kI16:
      return Extend<std::int16_t>(from);
    case GgufType::kU32:
    case GgufType::kF32:
      return Extend<std::uint32_t>(from);
    case GgufType::kI32:
      return Extend<std::int32_t>(from);
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
      return Extend<std::uint64_t>(from);
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return 0;
}

std::string DescribeType(const GgufValue& value) {
  if (!value.is_array()) return std::string(NameOf(value.type));
  return "array of " + std::string(NameOf(value.element_type));
}

std::optional<std::uint64_t> GgufValue::AsU64() const {
  if (!IsInteger(type)) return std::nullopt;
  if (IsSigned(type) && static_cast<std::int64_t>(bits) < 0) return std::nullopt;
  return bits;
}

std::optional<std::int64_t> GgufValue::AsI64() const {
  if (!IsInteger(type)) return std::nullopt;
  const auto value = static_cast<std::int64_t>(bits);
  if (!IsSigned(type) && value < 0) return std::nullopt;
  return value;
}

std::optional<double> GgufValue::AsF64() const {
  if (type == GgufType::kF32) {
    return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
  }
  if (type == GgufType::kF64) return std::bit_cast<double>(bits);
  if (!IsInteger(type)) return std::nullopt;
  return IsSigned(type) ? static_cast<double>(static_cast<std::int64_t>(bits))
                        : static_cast<double>(bits);
}

std::optional<bool> GgufValue::AsBool() const {
  if (type != GgufType::kBool) return std::nullopt;
  return bits != 0;
}

std::optional<std::int64_t> GgufValue::ElementI64(std::uint64_t i) const {
  const std::optional<GgufValue> value = Element(*this, i);
  if (!value) return std::nullopt;
  if (value->type == GgufType::kBool) return value->bits != 0;
  return value->AsI64();
}

std::optional<double> GgufValue::ElementF64(std::uint64_t i) const {
  const std::optional<GgufValue> value = Element(*this, i);
  if (!value) return std::nullopt;
  if (value->type == GgufType::kBool) return value->bits != 0 ? 1.0 : 0.0;
  return value->AsF64();
}

Result<std::optional<std::uint64_t>> ReadU64(const std::string& path, std::string_view key,
                                             const GgufValue* value) {
  if (!value) return std::optional<std::uint64_t>();
  if (!IsInteger(value->type)) return WrongType(path, key, *value, "an integer");
  const std::optional<std::uint64_t> number = value->AsU64();
  if (!number) {
    return FileCorrupt(path,
                       "key " + Quoted(key) + ": value " +
                           std::to_string(static_cast<std::int64_t>(value->bits)) +
                           " (want 0 or more); the file was written wrongly, convert it again");
  }
  return number;
}

Result<std::optional<double>> ReadF64(const std::string& path, std::string_view key,
                                      const GgufValue* value) {
  if (!value) return std::optional<double>();
  const std::optional<double> number = value->AsF64();
  if (!number) return WrongType(path, key, *value, "f32, f64 or an integer");
  return number;
}

Result<std::optional<bool>> ReadBool(const std::string& path, std::string_view key,
                                     const GgufValue* value) {
  if (!value) return std::optional<bool>();
  const std::optional<bool> flag = value->AsBool();
  if (!flag) return WrongType(path, key, *value, "bool");
  return flag;
}

Result<std::optional<std::string_view>> ReadString(const std::string& path, std::string_view key,
                                                   const GgufValue* value) {
  if (!value) return std::optional<std::string_view>();
  if (value->type != GgufType::kString) return WrongType(path, key, *value, "string");
  return std::optional<std::string_view>(value->text);
}

Status CheckStringArray(const std::string& path, std::string_view key, const GgufValue* value) {
  if (!value || (value->is_array() && value->strings)) return {};
  return WrongType(path, key, *value, "array of string");
}

Status CheckNumberArray(const std::string& path, std::string_view key, const GgufValue* value) {
  if (!value) return {};
  const bool numbers = value->is_array() && BytesOf(value->element_type) != 0;
  if (numbers || (value->is_array() && value->count == 0)) return {};
  return WrongType(path, key, *value, "array of numbers");
}

}  // namespace vt
