#include "formats/gguf_header.h"

#include <cstring>
#include <memory>

#include "formats/byte_reader.h"
#include "formats/file_error.h"
#include "formats/gguf_tensor_table.h"

namespace vt {
namespace {

// Smallest bytes of an entry: a name of one byte with its length, then the fixed fields.
constexpr std::uint64_t kKeyBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kTensorBytes = 8 + 1 + 4 + 4 + 8;
constexpr std::uint64_t kMaxKeyLength = 65535;  // gguf specification
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::uint64_t kReleaseStep = 8 << 20;

std::string Number(std::uint64_t value) { return std::to_string(value); }

class Parser {
 public:
  Parser(const std::string& path, const MappedFile& file, GgufTypeIds ids)
      : path_(path), file_(file), ids_(ids), in_(file.data(), file.size()) {}

  Result<GgufHeader> Parse() {
    VT_RETURN_IF_ERROR(ReadMagic());
    VT_RETURN_IF_ERROR(ReadVersion());
    std::uint64_t tensor_count = 0;
    std::uint64_t key_count = 0;
    if (!in_.Read(tensor_count)) return Cut("the tensor count");
    if (!in_.Read(key_count)) return Cut("the key count");
    VT_RETURN_IF_ERROR(CheckCount("tensor", tensor_count, kTensorBytes, kGgufMaxTensors));
    VT_RETURN_IF_ERROR(CheckCount("key", key_count, kKeyBytes, kGgufMaxKeys));

    header_.metadata.reserve(static_cast<std::size_t>(key_count));
    header_.keys.reserve(static_cast<std::size_t>(key_count));
    for (std::uint64_t i = 0; i < key_count; ++i) VT_RETURN_IF_ERROR(ReadKey(i));
    VT_RETURN_IF_ERROR(ReadGeneralKeys());
    VT_RETURN_IF_ERROR(ReadTensorTable(path_, in_, tensor_count, ids_, header_));
    VT_RETURN_IF_ERROR(PlaceTensors(path_, file_.size(), in_.at(), header_));
    VT_RETURN_IF_ERROR(CheckHeaderSize(0));
    return std::move(header_);
  }

 private:
  Status ReadMagic() {
    char magic[4] = {};
    if (!in_.Read(magic)) return Cut("the four magic bytes");
    const std::string_view seen(magic, sizeof(magic));
    if (seen == "GGUF") return {};
    std::string hint = "give a GGUF file";
    if (seen == "FUGG") return BigEndian();
    if (seen == "vers") hint = "this looks like a git-lfs pointer, fetch the file itself";
    if (seen == "ggml" || seen == "lmgg" || seen == "fmgg" || seen == "tjgg" || seen == "algg") {
      hint = "this is a format older than GGUF, convert the model again";
    }
    if (seen.substr(0, 2) == "PK") hint = "this is a zip or PyTorch file, convert it to GGUF";
    return FileCorrupt(
        path_, "not a GGUF file: first bytes are " + Quoted(seen) + " (want \"GGUF\"); " + hint);
  }

  Status ReadVersion() {
    if (!in_.Read(header_.version)) return Cut("the version");
    const std::uint32_t version = header_.version;
    if (version == 2 || version == 3) return {};
    if (version == 0) return FileCorrupt(path_, "GGUF version 0 (want 2 or 3)");
    if ((version & 0xffff) == 0) return BigEndian();
    return FileUnsupported(path_, "GGUF version " + Number(version) +
                                      " (versions 2 and 3 are read); convert the model again");
  }

  Status BigEndian() {
    return FileUnsupported(
        path_, "big-endian GGUF (little-endian is read); convert the model for this machine");
  }

  Status Cut(const std::string& what) {
    return FileCorrupt(path_, "ends at byte " + Number(file_.size()) + " inside " + what +
                                  " at byte " + Number(in_.at()) +
                                  "; the file is cut short or damaged, fetch it again");
  }

  Status CheckCount(const std::string& what, std::uint64_t count, std::uint64_t bytes_each,
                    std::uint64_t limit) {
    if (count > in_.left() / bytes_each) {
      return FileCorrupt(path_, what + " count " + Number(count) + " needs at least " +
                                    Number(bytes_each) + " bytes each (" + Number(in_.left()) +
                                    " bytes are left); the file is damaged, fetch it again");
    }
    if (count > limit) {
      return FileUnsupported(
          path_, what + " count " + Number(count) + " (at most " + Number(limit) + " are read)");
    }
    return {};
  }

  // Refuses a header that is, or with `more` bytes would be, larger than this reader takes.
  Status CheckHeaderSize(std::uint64_t more) {
    if (in_.at() <= kGgufMaxHeaderBytes && more <= kGgufMaxHeaderBytes - in_.at()) return {};
    return FileUnsupported(path_, "header of more than " + Number(kGgufMaxHeaderBytes) +
                                      " bytes (the most that is read)");
  }

  Status ReadKey(std::uint64_t index) {
    std::uint64_t length = 0;
    const std::string place = "the name of key " + Number(index);
    if (!in_.Read(length)) return Cut(place);
    if (length == 0 || length > kMaxKeyLength) {
      return FileCorrupt(path_, place + " has " + Number(length) + " bytes (allowed 1 to " +
                                    Number(kMaxKeyLength) + ")");
    }
    std::string_view key;
    if (!in_.ReadText(length, key)) return Cut(place);
    key_ = key;
    if (!header_.keys.emplace(key, header_.metadata.size()).second) {
      return FileCorrupt(path_, KeyText() + " occurs twice");
    }
    GgufValue value;
    VT_RETURN_IF_ERROR(ReadType(value.type));
    if (value.is_array()) {
      VT_RETURN_IF_ERROR(ReadArray(value));
    } else {
      VT_RETURN_IF_ERROR(ReadScalar(value));
    }
    header_.metadata.emplace_back(key, std::move(value));
    return CheckHeaderSize(0);
  }

  Status ReadType(GgufType& type) {
    std::uint32_t id = 0;
    if (!in_.Read(id)) return Cut("the type of " + KeyText());
    if (id > static_cast<std::uint32_t>(GgufType::kF64)) {
      return FileCorrupt(path_, KeyText() + ": value type " + Number(id) + " (allowed 0 to 12)");
    }
    type = static_cast<GgufType>(id);
    return {};
  }

  Status ReadScalar(GgufValue& value) {
    if (value.type == GgufType::kString) return ReadString(value.text);
    const std::byte* const from = in_.here();
    if (!in_.Skip(BytesOf(value.type))) return Cut("the value of " + KeyText());
    value.bits = LoadBits(value.type, from);
    if (value.type == GgufType::kBool && value.bits > 1) return BadBool(value.bits);
    return {};
  }

  Status BadBool(std::uint64_t byte) {
    return FileCorrupt(path_, KeyText() + ": bool of value " + Number(byte) + " (want 0 or 1)");
  }

  Status ReadString(std::string_view& text) {
    std::uint64_t length = 0;
    if (!in_.Read(length)) return Cut("the value of " + KeyText());
    if (!in_.ReadText(length, text)) return LongString(length);
    return {};
  }

  Status LongString(std::uint64_t length) {
    return FileCorrupt(path_, KeyText() + ": string of " + Number(length) + " bytes at byte " +
                                  Number(in_.at()) + " (" + Number(in_.left()) +
                                  " bytes are left); the file is cut short or damaged, fetch it "
                                  "again");
  }

  Status ReadArray(GgufValue& value) {
    VT_RETURN_IF_ERROR(ReadType(value.element_type));
    if (!in_.Read(value.count)) return Cut("the length of " + KeyText());
    if (value.element_type == GgufType::kArray) {
      return FileUnsupported(path_, KeyText() +
                                        ": array of arrays (arrays of scalars and of "
                                        "strings are read)");
    }
    const bool text = value.element_type == GgufType::kString;
    const std::uint64_t bytes_each = text ? 8 : BytesOf(value.element_type);
    if (value.count > in_.left() / bytes_each) {
      return FileCorrupt(path_, KeyText() + ": array of " + Number(value.count) + " " +
                                    std::string(NameOf(value.element_type)) + " needs at least " +
                                    Number(bytes_each) + " bytes each (" + Number(in_.left()) +
                                    " bytes are left); the file is cut short or damaged, fetch "
                                    "it again");
    }
    // An empty array reads as one of strings and as one of numbers: writers give it any type.
    if (text || value.count == 0) VT_RETURN_IF_ERROR(ReadStrings(value));
    if (text) return {};
    const std::uint64_t bytes = value.count * bytes_each;
    VT_RETURN_IF_ERROR(CheckHeaderSize(bytes));
    value.data = in_.here();
    in_.Skip(bytes);
    if (value.element_type == GgufType::kBool) {
      for (std::uint64_t i = 0; i < value.count; ++i) {
        const auto byte = std::to_integer<std::uint64_t>(value.data[i]);
        if (byte > 1) return BadBool(byte);
      }
    }
    return {};
  }

  Status ReadStrings(GgufValue& value) {
    strings_ += value.count;
    if (strings_ > kGgufMaxStrings) {
      return FileUnsupported(path_, KeyText() + ": more than " + Number(kGgufMaxStrings) +
                                        " strings in arrays (the most that is read)");
    }
    auto strings = std::make_shared<std::vector<std::string_view>>();
    strings->resize(static_cast<std::size_t>(value.count));
    std::uint64_t released = in_.at();
    for (std::string_view& text : *strings) {
      VT_RETURN_IF_ERROR(ReadString(text));
      if (in_.at() - released < kReleaseStep) continue;
      VT_RETURN_IF_ERROR(CheckHeaderSize(0));
      file_.Release(released, in_.at());
      released = in_.at();
    }
    value.strings = std::move(strings);
    return {};
  }

  Status ReadGeneralKeys() {
    VT_RETURN_IF_ERROR(
        vt::ReadString(path_, "general.architecture", header_.Find("general.architecture"))
            .status());
    constexpr std::string_view kAlignment = "general.alignment";
    const GgufValue* const value = header_.Find(kAlignment);
    if (!value) return {};
    if (value->type != GgufType::kU32) {
      return FileCorrupt(
          path_, "key " + Quoted(kAlignment) + ": type " + DescribeType(*value) + " (want u32)");
    }
    const std::uint64_t alignment = value->bits;
    if (alignment < 8 || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
      return FileCorrupt(path_, "key " + Quoted(kAlignment) + ": " + Number(alignment) +
                                    " (want a power of two from 8 to " + Number(kMaxAlignment) +
                                    ")");
    }
    header_.alignment = alignment;
    return {};
  }

  std::string KeyText() const { return "key " + Quoted(key_); }

  const std::string& path_;
  const MappedFile& file_;
  GgufTypeIds ids_;
  ByteReader in_;
  GgufHeader header_;
  std::string_view key_;
  std::uint64_t strings_ = 0;
};

}  // namespace

const GgufValue* GgufHeader::Find(std::string_view key) const {
  const auto found = keys.find(key);
  return found == keys.end() ? nullptr : &metadata[found->second].second;
}

Result<GgufHeader> ParseGgufHeader(const std::string& path, const MappedFile& file,
                                   GgufTypeIds ids) {
  return Parser(path, file, ids).Parse();
}

}  // namespace vt
