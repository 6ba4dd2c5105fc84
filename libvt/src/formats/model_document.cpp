#include "formats/model_document.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/json.h"
#include "formats/gguf_contents.h"
#include "formats/gguf_header.h"

namespace vt {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 44;
constexpr std::uint64_t kDefaultAlignment = 32;

std::string Number(std::uint64_t value) { return std::to_string(value); }

Status Missing(const std::string& pointer) {
  return JsonError(pointer,
                   "missing; describe the model again with vt-run --describe of this version");
}

Result<const Json*> Member(const Json& object, const std::string& at, const char* key) {
  if (!object.is_object()) return JsonError(at, "not an object");
  const auto found = object.find(key);
  if (found == object.end()) return Missing(at + "/" + key);
  return &*found;
}

Result<const Json*> ArrayMember(const Json& object, const std::string& at, const char* key) {
  VT_ASSIGN_OR_RETURN(const Json* value, Member(object, at, key));
  if (!value->is_array()) return JsonError(at + "/" + key, "not an array");
  return value;
}

Result<std::string> TextMember(const Json& object, const std::string& at, const char* key) {
  VT_ASSIGN_OR_RETURN(const Json* value, Member(object, at, key));
  if (!value->is_string()) return JsonError(at + "/" + key, "not a string");
  return value->get<std::string>();
}

Result<std::uint64_t> ReadCount(const Json& value, const std::string& at, std::uint64_t least,
                                std::uint64_t most) {
  if (!value.is_number_integer()) return JsonError(at, "not a whole number");
  const bool negative = !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
  if (negative || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most) {
    return JsonError(at, value.dump() + " (allowed " + Number(least) + " to " + Number(most) + ")");
  }
  return value.get<std::uint64_t>();
}

Result<std::uint64_t> CountMember(const Json& object, const std::string& at, const char* key,
                                  std::uint64_t least, std::uint64_t most) {
  VT_ASSIGN_OR_RETURN(const Json* value, Member(object, at, key));
  return ReadCount(*value, at + "/" + key, least, most);
}

std::optional<GgufType> FindType(std::string_view name) {
  for (std::uint32_t id = 0; id <= static_cast<std::uint32_t>(GgufType::kF64); ++id) {
    if (NameOf(static_cast<GgufType>(id)) == name) return static_cast<GgufType>(id);
  }
  return std::nullopt;
}

Result<GgufType> TypeMember(const Json& object, const std::string& at, const char* key) {
  VT_ASSIGN_OR_RETURN(const std::string name, TextMember(object, at, key));
  const std::optional<GgufType> type = FindType(name);
  if (!type) return JsonError(at + "/" + key, "no type of a GGUF key: \"" + name + "\"");
  return *type;
}

template <class T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendText(std::string& out, std::string_view text) {
  Append(out, std::uint64_t{text.size()});
  out.append(text);
}

template <class T>
Status AppendInteger(std::string& out, const Json& value, const std::string& at) {
  using Limits = std::numeric_limits<T>;
  bool fits = value.is_number_integer();
  if (fits && value.is_number_unsigned()) {
    fits = value.get<std::uint64_t>() <= static_cast<std::uint64_t>(Limits::max());
  } else if (fits) {
    const auto number = value.get<std::int64_t>();
    fits = number >= 0 ? static_cast<std::uint64_t>(number) <= std::uint64_t{Limits::max()}
                       : Limits::is_signed && number >= static_cast<std::int64_t>(Limits::min());
  }
  if (!fits) {
    return JsonError(at, value.dump() + " (allowed whole numbers from " +
                             std::to_string(Limits::min()) + " to " +
                             std::to_string(Limits::max()) + ")");
  }
  Append(out, value.get<T>());
  return {};
}

template <class T>
Status AppendReal(std::string& out, const Json& value, const std::string& at) {
  using Limits = std::numeric_limits<T>;
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "nan") return Append(out, Limits::quiet_NaN()), Status();
    if (text == "inf") return Append(out, Limits::infinity()), Status();
    if (text == "-inf") return Append(out, -Limits::infinity()), Status();
  }
  if (!value.is_number() || std::abs(value.get<double>()) > double{Limits::max()}) {
    return JsonError(at, value.dump() + " is no number of the key's type");
  }
  Append(out, value.get<T>());
  return {};
}

Status AppendScalar(std::string& out, GgufType type, const Json& value, const std::string& at) {
  switch (type) {
    case GgufType::kU8:
      return AppendInteger<std::uint8_t>(out, value, at);
    case GgufType::kI8:
      return AppendInteger<std::int8_t>(out, value, at);
    case GgufType::kU16:
      return AppendInteger<std::uint16_t>(out, value, at);
    case GgufType::kI16:
      return AppendInteger<std::int16_t>(out, value, at);
    case GgufType::kU32:
      return AppendInteger<std::uint32_t>(out, value, at);
    case GgufType::kI32:
      return AppendInteger<std::int32_t>(out, value, at);
    case GgufType::kU64:
      return AppendInteger<std::uint64_t>(out, value, at);
    case GgufType::kI64:
      return AppendInteger<std::int64_t>(out, value, at);
    case GgufType::kF32:
      return AppendReal<float>(out, value, at);
    case GgufType::kF64:
      return AppendReal<double>(out, value, at);
    case GgufType::kBool:
      if (!value.is_boolean()) return JsonError(at, "neither true nor false");
      Append(out, static_cast<std::uint8_t>(value.get<bool>() ? 1 : 0));
      return {};
    case GgufType::kString:
      if (!value.is_string()) return JsonError(at, "not a string");
      AppendText(out, value.get_ref<const std::string&>());
      return {};
    case GgufType::kArray:
      break;
  }
  return JsonError(at, "an array of arrays");
}

class Rebuilder {
 public:
  explicit Rebuilder(const Json& root) : root_(root) {}

  Result<ModelDocument> Rebuild();

 private:
  Status ReadModel();
  Status AppendKey(const Json& entry, const std::string& at);
  Status AppendArray(const Json& entry, const std::string& at);
  Status AppendTensor(const Json& entry, const std::string& at);
  Status CheckHeader(const std::string& at, std::uint64_t more) const;
  Result<ModelDocument> Map() const;
  Result<GgufFile> Read(const std::string& path) const;

  const Json& root_;
  std::string name_, digest_;
  std::uint64_t file_bytes_ = 0;
  std::vector<std::uint64_t> shard_bytes_;
  std::uint64_t alignment_ = kDefaultAlignment;
  std::string header_;
  std::uint64_t data_bytes_ = 0;
  std::size_t tensor_count_ = 0;
  std::vector<std::size_t> gathered_;  // tensors that are not contiguous in their files
};

Status Rebuilder::CheckHeader(const std::string& at, std::uint64_t more) const {
  if (more <= kGgufMaxHeaderBytes && header_.size() <= kGgufMaxHeaderBytes - more) return {};
  return JsonError(at, "the header would be larger than " + Number(kGgufMaxHeaderBytes) + " bytes");
}

Status Rebuilder::ReadModel() {
  VT_ASSIGN_OR_RETURN(const Json* schema, Member(root_, "", "schema"));
  if (*schema != "vt.model/1") {
    return JsonError("/schema", schema->dump() + " (want \"vt.model/1\", from vt-run --describe)");
  }
  VT_ASSIGN_OR_RETURN(const Json* model, Member(root_, "", "model"));
  VT_ASSIGN_OR_RETURN(name_, TextMember(*model, "/model", "file"));
  VT_ASSIGN_OR_RETURN(digest_, TextMember(*model, "/model", "digest"));
  VT_ASSIGN_OR_RETURN(file_bytes_, CountMember(*model, "/model", "bytes", 1, kMostFileBytes));
  VT_ASSIGN_OR_RETURN(const Json* shards, ArrayMember(*model, "/model", "shards"));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < shards->size(); ++i) {
    const std::string at = "/model/shards/" + Number(i);
    VT_ASSIGN_OR_RETURN(const std::uint64_t bytes,
                        CountMember((*shards)[i], at, "bytes", 1, kMostFileBytes));
    sum += bytes;
    shard_bytes_.push_back(bytes);
  }
  if (sum == file_bytes_) return {};
  return JsonError("/model/bytes", Number(file_bytes_) + ", but the shards have " + Number(sum));
}

Status Rebuilder::AppendKey(const Json& entry, const std::string& at) {
  VT_ASSIGN_OR_RETURN(const std::string key, TextMember(entry, at, "key"));
  VT_ASSIGN_OR_RETURN(const GgufType type, TypeMember(entry, at, "type"));
  VT_ASSIGN_OR_RETURN(const Json* value, Member(entry, at, "value"));
  // All tensors are in one file now.
  const bool split = key == "split.count";
  VT_RETURN_IF_ERROR(CheckHeader(at, key.size()));
  AppendText(header_, key);
  Append(header_, static_cast<std::uint32_t>(type));
  if (type == GgufType::kArray) return AppendArray(entry, at);
  if (type == GgufType::kString && value->is_null()) {
    VT_ASSIGN_OR_RETURN(const std::uint64_t bytes,
                        CountMember(entry, at, "bytes", 0, kGgufMaxHeaderBytes));
    VT_RETURN_IF_ERROR(CheckHeader(at, bytes));
    AppendText(header_, std::string(static_cast<std::size_t>(bytes), ' '));
    return {};
  }
  const Json one = 1;
  VT_RETURN_IF_ERROR(AppendScalar(header_, type, split ? one : *value, at + "/value"));
  if (key == "general.alignment" && type == GgufType::kU32) {
    // The reader of the header says what is wrong with any other.
    const auto alignment = value->get<std::uint64_t>();
    if (alignment != 0 && (alignment & (alignment - 1)) == 0) alignment_ = alignment;
  }
  return CheckHeader(at, 0);
}

Status Rebuilder::AppendArray(const Json& entry, const std::string& at) {
  VT_ASSIGN_OR_RETURN(const GgufType of, TypeMember(entry, at, "of"));
  if (of == GgufType::kArray) return JsonError(at + "/of", "an array of arrays");
  VT_ASSIGN_OR_RETURN(const std::uint64_t count,
                      CountMember(entry, at, "count", 0, kGgufMaxHeaderBytes));
  Append(header_, static_cast<std::uint32_t>(of));
  Append(header_, count);
  VT_ASSIGN_OR_RETURN(const Json* values, Member(entry, at, "value"));
  if (values->is_null()) {
    const std::uint64_t each = of == GgufType::kString ? sizeof(std::uint64_t) : BytesOf(of);
    VT_RETURN_IF_ERROR(CheckHeader(at, count * each));
    header_.resize(header_.size() + static_cast<std::size_t>(count * each));
    return {};
  }
  if (!values->is_array() || values->size() != count) {
    return JsonError(at + "/value", "not an array of " + Number(count) + " values (count)");
  }
  for (std::size_t i = 0; i < values->size(); ++i) {
    VT_RETURN_IF_ERROR(AppendScalar(header_, of, (*values)[i], at + "/value/" + Number(i)));
  }
  return CheckHeader(at, 0);
}

Status Rebuilder::AppendTensor(const Json& entry, const std::string& at) {
  VT_ASSIGN_OR_RETURN(const std::string name, TextMember(entry, at, "name"));
  VT_ASSIGN_OR_RETURN(const std::string type_name, TextMember(entry, at, "type"));
  const DTypeInfo* info = FindDType(type_name);
  if (!info) return JsonError(at + "/type", "no type of a tensor: \"" + type_name + "\"");
  VT_ASSIGN_OR_RETURN(const Json* dims, ArrayMember(entry, at, "dims"));
  if (dims->empty() || dims->size() > 4) {
    return JsonError(at + "/dims", Number(dims->size()) + " dimensions (allowed 1 to 4)");
  }
  AppendText(header_, name);
  Append(header_, static_cast<std::uint32_t>(dims->size()));
  std::uint64_t values = 1;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    // 44 bits hold any size; what passes here cannot overflow below.
    const std::uint64_t most = kMostFileBytes * 8 / values;
    VT_ASSIGN_OR_RETURN(const std::uint64_t dim,
                        ReadCount((*dims)[i], at + "/dims/" + Number(i), 1, most));
    Append(header_, dim);
    values *= dim;
  }
  const auto row = (*dims)[0].get<std::uint64_t>();
  if (row % info->block != 0) {
    return JsonError(at + "/dims/0", Number(row) + " (" + type_name + " wants a multiple of " +
                                         Number(info->block) + ")");
  }
  const std::uint64_t bytes = RowBytes(info->type, values);
  VT_ASSIGN_OR_RETURN(const std::uint64_t stated,
                      CountMember(entry, at, "bytes", 0, kMostFileBytes));
  if (stated != bytes) {
    return JsonError(at + "/bytes",
                     Number(stated) + ", but its type and dims make " + Number(bytes));
  }
  if (shard_bytes_.empty()) return JsonError("/model/shards", "empty, but there are tensors");
  VT_ASSIGN_OR_RETURN(const std::uint64_t shard,
                      CountMember(entry, at, "shard", 0, shard_bytes_.size() - 1));
  VT_ASSIGN_OR_RETURN(const std::uint64_t offset,
                      CountMember(entry, at, "offset", 0, kMostFileBytes));
  const auto flag = entry.find("gathered");
  const bool gathered = flag != entry.end() && *flag == true;
  if (gathered) gathered_.push_back(tensor_count_);
  ++tensor_count_;
  // What is gathered may come from several shards.
  if (!gathered && (bytes > shard_bytes_[shard] || offset > shard_bytes_[shard] - bytes)) {
    return JsonError(at + "/offset", Number(offset) + ": its " + Number(bytes) +
                                         " bytes end outside its shard of " +
                                         Number(shard_bytes_[shard]));
  }
  Append(header_, static_cast<std::uint32_t>(info->type));
  Append(header_, data_bytes_);
  data_bytes_ += (bytes + alignment_ - 1) / alignment_ * alignment_;
  if (data_bytes_ > kMostFileBytes) {
    return JsonError("/tensors", "more than " + Number(kMostFileBytes) + " bytes");
  }
  return CheckHeader(at, 0);
}

Result<ModelDocument> Rebuilder::Rebuild() {
  VT_RETURN_IF_ERROR(ReadModel());
  VT_ASSIGN_OR_RETURN(const Json* metadata, ArrayMember(root_, "", "metadata"));
  VT_ASSIGN_OR_RETURN(const Json* tensors, ArrayMember(root_, "", "tensors"));
  header_ = "GGUF";
  Append(header_, std::uint32_t{3});
  Append(header_, std::uint64_t{tensors->size()});
  Append(header_, std::uint64_t{metadata->size()});
  for (std::size_t i = 0; i < metadata->size(); ++i) {
    VT_RETURN_IF_ERROR(AppendKey((*metadata)[i], "/metadata/" + Number(i)));
  }
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    VT_RETURN_IF_ERROR(AppendTensor((*tensors)[i], "/tensors/" + Number(i)));
  }
  return Map();
}

Result<GgufFile> Rebuilder::Read(const std::string& path) const {
  GgufContents contents;
  VT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  VT_ASSIGN_OR_RETURN(contents.first, ParseGgufHeader(path, file, GgufTypeIds::kOurs));
  contents.tensors = std::move(contents.first.tensors);
  for (const std::size_t index : gathered_) {
    GgufTensor& tensor = contents.tensors[index];
    auto part = std::make_unique<GgufTensorPart[]>(1);
    part[0] = {tensor.shard, tensor.offset, tensor.bytes};
    tensor.parts = {part.get(), 1};
    contents.parts.push_back(std::move(part));
  }
  contents.shards.push_back({.path = path,
                             .file_bytes = file.size(),
                             .header_bytes = contents.first.bytes,
                             .version = contents.first.version,
                             .base = file.data()});
  contents.files.push_back(std::move(file));
  return GgufFile::FromContents(std::move(contents));
}

// An anonymous file of the size that the described one has, all holes but for the header.
Result<ModelDocument> Rebuilder::Map() const {
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) close(fd);
    }
  };
  const Descriptor memory{memfd_create("vt-model", MFD_CLOEXEC)};
  const std::uint64_t data_at = (header_.size() + alignment_ - 1) / alignment_ * alignment_;
  const std::uint64_t size = std::max(file_bytes_, data_at + data_bytes_);
  bool written = memory.fd >= 0 && ftruncate(memory.fd, static_cast<off_t>(size)) == 0;
  for (std::size_t at = 0; written && at < header_.size();) {
    const ssize_t put =
        pwrite(memory.fd, header_.data() + at, header_.size() - at, static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    written = put > 0;
    if (written) at += static_cast<std::size_t>(put);
  }
  if (!written) {
    return NoMemoryError("the header of " + name_ +
                         " cannot be held in memory: " + std::strerror(errno));
  }
  const std::string path = "/proc/self/fd/" + std::to_string(memory.fd);
  Result<GgufFile> file = Read(path);
  if (file.ok()) return ModelDocument{std::move(file).value(), name_, digest_, path};
  const Status& status = file.status();
  if (status.code() == Code::kNoMemory) return status;
  std::string what = status.message();
  if (what.rfind(path + ": ", 0) == 0) what.erase(0, path.size() + 2);
  return InvalidError("not the header of a model file: " + what);
}

}  // namespace

Result<ModelDocument> ReadModelDocument(std::string_view json) {
  VT_ASSIGN_OR_RETURN(const Json root, ParseJson(json));
  if (!root.is_object()) return JsonError("", "not an object (want a vt.model/1 document)");
  return Rebuilder(root).Rebuild();
}

Status InTermsOf(const ModelDocument& document, const Status& status) {
  std::string message = status.message();
  std::size_t at = 0;
  while ((at = message.find(document.mapped_as, at)) != std::string::npos) {
    message.replace(at, document.mapped_as.size(), document.name);
    at += document.name.size();
  }
  return Status(status.code(), message,
                status.at() == document.mapped_as ? document.name : status.at());
}

}  // namespace vt
