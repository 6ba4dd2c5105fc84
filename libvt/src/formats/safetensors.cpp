#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "formats/file_error.h"
#include "formats/json_cursor.h"
#include "formats/name_hash.h"

namespace vt {
namespace {

constexpr SafetensorsType kTypes[] = {
    {"F32", 4, true, DType::kF32},
    {"F16", 2, true, DType::kF16},
    {"BF16", 2, true, DType::kBF16},
    {"F8_E4M3", 1, true, DType::kF8_E4M3},
    {"BOOL", 1, false},
    {"U8", 1, false},
    {"I8", 1, false},
    {"F8_E5M2", 1, false},
    {"F8_E8M0", 1, false},
    {"I16", 2, false},
    {"U16", 2, false},
    {"I32", 4, false},
    {"U32", 4, false},
    {"F64", 8, false},
    {"I64", 8, false},
    {"U64", 8, false},
};

std::string Number(std::uint64_t value) { return std::to_string(value); }

const SafetensorsType* FindType(std::string_view name) {
  for (const SafetensorsType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

std::string TypeNames() {
  std::string names;
  for (const SafetensorsType& type : kTypes) {
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  return names;
}

class Parser {
 public:
  Parser(const std::string& path, const MappedFile& file, TextArena& texts)
      : path_(path), file_(file), texts_(texts) {}

  Result<SafetensorsHeader> Parse();

 private:
  Status ReadLength();
  Status ReadEntry(JsonCursor& json, SafetensorsTensor& tensor);
  Status ReadShape(JsonCursor& json, const std::string& subject, SafetensorsTensor& tensor);
  Status ReadOffsets(JsonCursor& json, const std::string& subject, SafetensorsTensor& tensor);
  Status CheckSize(const std::string& subject, const SafetensorsTensor& tensor) const;
  Status CheckCover() const;
  Status BadJson(const JsonCursor& json) const {
    return FileCorrupt(path_, "the header is not valid JSON: " + json.error());
  }

  const std::string& path_;
  const MappedFile& file_;
  TextArena& texts_;
  SafetensorsHeader header_;
  std::uint64_t data_bytes_ = 0;
};

Status Parser::ReadLength() {
  std::uint64_t length = 0;
  if (file_.size() < sizeof(length)) {
    return FileCorrupt(path_, Number(file_.size()) +
                                  " bytes (a safetensors file begins with 8 bytes of header "
                                  "length); the file is cut short, fetch it again");
  }
  std::memcpy(&length, file_.data(), sizeof(length));
  if (std::memcmp(file_.data(), "version ", 8) == 0) {
    return FileCorrupt(path_,
                       "not a safetensors file: this looks like a git-lfs pointer, fetch the file "
                       "itself");
  }
  if (length > kSafetensorsMaxHeaderBytes) {
    return FileCorrupt(path_, "header of " + Number(length) + " bytes (the format allows " +
                                  Number(kSafetensorsMaxHeaderBytes) +
                                  "); the file is damaged or no safetensors file");
  }
  if (length > file_.size() - sizeof(length)) {
    return FileCorrupt(path_, "header of " + Number(length) + " bytes, but the file has " +
                                  Number(file_.size() - sizeof(length)) +
                                  " after its length; the file is cut short, fetch it again");
  }
  header_.bytes = sizeof(length) + length;
  data_bytes_ = file_.size() - header_.bytes;
  return {};
}

Result<SafetensorsHeader> Parser::Parse() {
  VT_RETURN_IF_ERROR(ReadLength());
  const std::string_view text(reinterpret_cast<const char*>(file_.data()) + 8,
                              static_cast<std::size_t>(header_.bytes - 8));
  JsonCursor json(text, texts_);
  if (!json.EnterObject()) return BadJson(json);
  NameIndex seen;
  std::string_view key;
  bool metadata = false;
  while (json.NextKey(key)) {
    if (key == "__metadata__") {
      if (metadata) return FileCorrupt(path_, "\"__metadata__\" occurs twice in the header");
      metadata = true;
      if (!json.Skip()) return BadJson(json);
      continue;
    }
    if (!seen.emplace(key, header_.tensors.size()).second) {
      return FileCorrupt(path_, "tensor " + Quoted(key) + " occurs twice in the header");
    }
    if (header_.tensors.size() == kSafetensorsMaxTensors) {
      return FileUnsupported(path_, "more than " + Number(kSafetensorsMaxTensors) +
                                        " tensors (the most that is read)");
    }
    SafetensorsTensor& tensor = header_.tensors.emplace_back();
    tensor.name = key;
    VT_RETURN_IF_ERROR(ReadEntry(json, tensor));
  }
  if (!json.Finish()) return BadJson(json);
  VT_RETURN_IF_ERROR(CheckCover());
  for (SafetensorsTensor& tensor : header_.tensors) tensor.offset += header_.bytes;
  return std::move(header_);
}

Status Parser::ReadEntry(JsonCursor& json, SafetensorsTensor& tensor) {
  const std::string subject = "tensor " + Quoted(tensor.name);
  constexpr std::string_view kMembers[] = {"dtype", "shape", "data_offsets"};
  bool seen[std::size(kMembers)] = {};
  if (!json.EnterObject()) return BadJson(json);
  std::string_view key;
  while (json.NextKey(key)) {
    const auto* const member = std::find(std::begin(kMembers), std::end(kMembers), key);
    if (member == std::end(kMembers)) {
      return FileCorrupt(path_, subject + ": member " + Quoted(key) +
                                    " is not known (allowed: dtype, shape, data_offsets)");
    }
    const auto index = static_cast<std::size_t>(member - std::begin(kMembers));
    if (seen[index]) {
      return FileCorrupt(path_, subject + ": member " + Quoted(key) + " occurs twice");
    }
    seen[index] = true;
    if (index == 1) {
      VT_RETURN_IF_ERROR(ReadShape(json, subject, tensor));
    } else if (index == 2) {
      VT_RETURN_IF_ERROR(ReadOffsets(json, subject, tensor));
    } else {
      std::string_view name;
      if (!json.ReadString(name)) return BadJson(json);
      tensor.type = FindType(name);
      if (!tensor.type) {
        return FileUnsupported(path_, subject + ": dtype " + Quoted(name) +
                                          " is not known (known: " + TypeNames() +
                                          "); convert the model to one of F32, F16, BF16");
      }
    }
  }
  if (json.failed()) return BadJson(json);
  for (std::size_t i = 0; i < std::size(kMembers); ++i) {
    if (!seen[i]) {
      return FileCorrupt(path_, subject + ": member " + Quoted(kMembers[i]) + " is missing");
    }
  }
  return CheckSize(subject, tensor);
}

Status Parser::ReadShape(JsonCursor& json, const std::string& subject, SafetensorsTensor& tensor) {
  if (!json.EnterArray()) return BadJson(json);
  while (json.NextElement()) {
    if (tensor.rank == kSafetensorsMaxRank) {
      return FileUnsupported(path_, subject + ": more than " + Number(kSafetensorsMaxRank) +
                                        " dimensions (the most that is read)");
    }
    if (!json.ReadU64(tensor.dims[tensor.rank])) return BadJson(json);
    ++tensor.rank;
  }
  return json.failed() ? BadJson(json) : Status();
}

Status Parser::ReadOffsets(JsonCursor& json, const std::string& subject,
                           SafetensorsTensor& tensor) {
  if (!json.EnterArray()) return BadJson(json);
  std::uint64_t offsets[2] = {};
  std::size_t count = 0;
  while (json.NextElement()) {
    std::uint64_t offset = 0;
    if (!json.ReadU64(offset)) return BadJson(json);
    if (count < 2) offsets[count] = offset;
    ++count;
  }
  if (json.failed()) return BadJson(json);
  if (count != 2) {
    return FileCorrupt(path_,
                       subject + ": " + Number(count) + " data offsets (want begin and end)");
  }
  const auto [begin, end] = offsets;
  if (begin > end) {
    return FileCorrupt(path_, subject + ": its data begin at " + Number(begin) +
                                  ", after their end at " + Number(end));
  }
  if (end > data_bytes_) {
    return FileCorrupt(path_, subject + ": its data end at " + Number(end) +
                                  ", outside the file: " + Number(end) +
                                  " bytes of data expected, " + Number(data_bytes_) +
                                  " present; the file is cut short or damaged, fetch it again");
  }
  tensor.offset = begin;
  tensor.bytes = end - begin;
  return {};
}

Status Parser::CheckSize(const std::string& subject, const SafetensorsTensor& tensor) const {
  // A dimension of 0 makes any shape empty.
  const bool empty = std::ranges::find(tensor.shape(), 0u) != tensor.shape().end();
  std::uint64_t bytes = empty ? 0 : tensor.type->bytes;
  bool fits = true;
  for (const std::uint64_t dim : tensor.shape()) {
    if (empty) break;
    fits = fits && dim <= std::numeric_limits<std::uint64_t>::max() / bytes;
    if (fits) bytes *= dim;
  }
  if (fits && bytes == tensor.bytes) return {};
  return FileCorrupt(path_, subject + ": shape " + ShapeText(tensor.shape()) + " of " +
                                std::string(tensor.type->name) + " takes " +
                                (fits ? Number(bytes) : "2^64 or more") +
                                " bytes, its data offsets span " + Number(tensor.bytes));
}

// Every byte of the data belongs to one tensor.
Status Parser::CheckCover() const {
  const std::vector<SafetensorsTensor>& tensors = header_.tensors;
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (tensors[a].offset != tensors[b].offset) return tensors[a].offset < tensors[b].offset;
    if (tensors[a].bytes != tensors[b].bytes) return tensors[a].bytes < tensors[b].bytes;
    return a < b;
  });
  std::uint64_t at = 0;
  const SafetensorsTensor* last = nullptr;
  for (const std::uint32_t index : order) {
    const SafetensorsTensor& tensor = tensors[index];
    const std::string subject = "tensor " + Quoted(tensor.name);
    if (tensor.offset < at) {
      return FileCorrupt(path_, subject + ": its data begin at " + Number(tensor.offset) +
                                    ", inside tensor " + Quoted(last->name) + " (" +
                                    Number(last->offset) + " to " + Number(at) + ")");
    }
    if (tensor.offset > at) {
      return FileCorrupt(path_, subject + ": its data begin at " + Number(tensor.offset) +
                                    ", but " + Number(tensor.offset - at) + " bytes before, from " +
                                    Number(at) + " on, belong to no tensor");
    }
    at += tensor.bytes;
    last = &tensor;
  }
  if (at == data_bytes_) return {};
  return FileCorrupt(path_, Number(data_bytes_ - at) +
                                " bytes follow the data of the last tensor, which end at " +
                                Number(at) + "; the file is damaged, fetch it again");
}

}  // namespace

Result<SafetensorsHeader> ParseSafetensors(const std::string& path, const MappedFile& file,
                                           TextArena& texts) {
  return Parser(path, file, texts).Parse();
}

std::string ShapeText(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (const std::uint64_t dim : shape) text += (text.size() > 1 ? ", " : "") + Number(dim);
  return text + "]";
}

}  // namespace vt
