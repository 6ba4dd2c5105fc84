#include "formats/hf_metadata.h"

#include <bit>
#include <cstring>
#include <utility>

namespace vt {

void HfMetadata::Add(std::string_view key, GgufValue value) {
  GgufHeader& header = contents_.first;
  const std::string_view kept = contents_.texts.Keep(key);
  header.keys.emplace(kept, header.metadata.size());
  header.metadata.emplace_back(kept, std::move(value));
}

void HfMetadata::U32(std::string_view key, std::uint64_t value) {
  GgufValue out;
  out.type = value >> 32 == 0 ? GgufType::kU32 : GgufType::kU64;
  out.bits = value;
  Add(key, std::move(out));
}

void HfMetadata::F32(std::string_view key, double value) {
  GgufValue out;
  out.type = GgufType::kF32;
  out.bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  Add(key, std::move(out));
}

void HfMetadata::Bool(std::string_view key, bool value) {
  GgufValue out;
  out.type = GgufType::kBool;
  out.bits = value ? 1 : 0;
  Add(key, std::move(out));
}

void HfMetadata::String(std::string_view key, std::string_view value) {
  GgufValue out;
  out.type = GgufType::kString;
  out.text = contents_.texts.Keep(value);
  Add(key, std::move(out));
}

void HfMetadata::AddArray(std::string_view key, GgufType type, std::uint64_t count,
                          const void* values) {
  GgufValue out;
  out.type = GgufType::kArray;
  out.element_type = type;
  out.count = count;
  const auto bytes = static_cast<std::size_t>(count * BytesOf(type));
  contents_.bytes.push_back(std::make_unique<std::byte[]>(bytes + 1));
  if (bytes > 0) std::memcpy(contents_.bytes.back().get(), values, bytes);
  out.data = contents_.bytes.back().get();
  Add(key, std::move(out));
}

void HfMetadata::Array(std::string_view key, std::span<const std::uint32_t> values) {
  AddArray(key, GgufType::kU32, values.size(), values.data());
}

void HfMetadata::Array(std::string_view key, std::span<const std::int32_t> values) {
  AddArray(key, GgufType::kI32, values.size(), values.data());
}

void HfMetadata::Array(std::string_view key, std::span<const float> values) {
  AddArray(key, GgufType::kF32, values.size(), values.data());
}

void HfMetadata::Bools(std::string_view key, const std::vector<bool>& values) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  AddArray(key, GgufType::kBool, bytes.size(), bytes.data());
}

void HfMetadata::Strings(std::string_view key,
                         std::shared_ptr<const std::vector<std::string_view>> values) {
  GgufValue out;
  out.type = GgufType::kArray;
  out.element_type = GgufType::kString;
  out.count = values->size();
  out.strings = std::move(values);
  Add(key, std::move(out));
}

}  // namespace vt
