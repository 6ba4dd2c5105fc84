#include "support/model_header.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "formats/gguf_contents.h"

namespace vt::test {
namespace {

constexpr std::uint64_t kAlignment = 32;

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <class T>
std::string Raw(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string RawText(std::string_view text) { return Raw(std::uint64_t{text.size()}).append(text); }

std::string ArrayHead(GgufType type, std::size_t count) {
  return Raw(static_cast<std::uint32_t>(type)) + Raw(std::uint64_t{count});
}

DType Fitting(DType wanted, std::uint64_t cols) {
  const auto fits = [&](DType type) { return cols % InfoOf(type).block == 0; };
  if (fits(wanted)) return wanted;
  const bool small = wanted == DType::kQ4_K || wanted == DType::kIQ4_XS;
  const DType next = small ? DType::kQ5_0 : DType::kQ8_0;
  return fits(next) ? next : DType::kF16;
}

[[noreturn]] void Fail(const std::string& what) {
  throw std::runtime_error(what + (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

void Fill(int fd, const std::string& header, std::uint64_t file_bytes, const std::string& what) {
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(file_bytes)) != 0) Fail(what);
  for (std::size_t at = 0; at < header.size();) {
    const ssize_t put = pwrite(fd, header.data() + at, header.size() - at, static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) Fail(what);
    at += static_cast<std::size_t>(put);
  }
}

}  // namespace

std::uint64_t ModelHeader::Tensor::bytes() const {
  std::uint64_t values = 1;
  for (const std::uint64_t dim : dims) values *= dim;
  return RowBytes(type, values);
}

ModelHeader::ModelHeader(std::string_view architecture, std::string_view name)
    : architecture_(architecture), name_(name) {
  Set("general.architecture", GgufType::kString, RawText(architecture));
  Set("general.name", GgufType::kString, RawText(name));
}

ModelHeader& ModelHeader::Set(std::string name, GgufType type, std::string bytes) {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& key) { return key.name == name; });
  if (found == keys_.end()) {
    keys_.push_back({std::move(name), type, std::move(bytes)});
  } else {
    found->type = type;
    found->bytes = std::move(bytes);
  }
  return *this;
}

ModelHeader& ModelHeader::Count(std::string_view key, std::uint32_t value) {
  return Set(architecture_ + "." + std::string(key), GgufType::kU32, Raw(value));
}

ModelHeader& ModelHeader::Counts(std::string_view key, const std::vector<std::int32_t>& values) {
  std::string bytes = ArrayHead(GgufType::kI32, values.size());
  for (const std::int32_t value : values) bytes += Raw(value);
  return Set(architecture_ + "." + std::string(key), GgufType::kArray, std::move(bytes));
}

ModelHeader& ModelHeader::Number(std::string_view key, float value) {
  return Set(architecture_ + "." + std::string(key), GgufType::kF32, Raw(value));
}

ModelHeader& ModelHeader::Flag(std::string_view key, bool value) {
  return Set(architecture_ + "." + std::string(key), GgufType::kBool,
             std::string(1, value ? '\1' : '\0'));
}

ModelHeader& ModelHeader::Flags(std::string_view key, const std::vector<bool>& values) {
  std::string bytes = ArrayHead(GgufType::kBool, values.size());
  for (const bool value : values) bytes += value ? '\1' : '\0';
  return Set(architecture_ + "." + std::string(key), GgufType::kArray, std::move(bytes));
}

ModelHeader& ModelHeader::Text(std::string_view key, std::string_view value) {
  return Set(architecture_ + "." + std::string(key), GgufType::kString, RawText(value));
}

ModelHeader& ModelHeader::Remove(std::string_view key) {
  const std::string name = architecture_ + "." + std::string(key);
  std::erase_if(keys_, [&](const Key& one) { return one.name == name; });
  return *this;
}

ModelHeader& ModelHeader::Add(std::string name, DType type, std::vector<std::uint64_t> dims) {
  const DType fitting = Fitting(type, dims.at(0));
  tensors_.push_back({std::move(name), fitting, std::move(dims)});
  return *this;
}

ModelHeader& ModelHeader::AddFloats(std::string name, std::vector<std::uint64_t> dims) {
  return Add(std::move(name), DType::kF32, std::move(dims));
}

ModelHeader::Tensor* ModelHeader::Find(std::string_view name) {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

ModelHeader& ModelHeader::AddTokenizer() {
  const Tensor* const embedding = Find("token_embd.weight");
  if (!embedding) throw std::runtime_error("a tokenizer, but no token_embd.weight");
  const auto count = static_cast<std::size_t>(embedding->dims.at(1));
  std::string texts = ArrayHead(GgufType::kString, count);
  std::string kinds = ArrayHead(GgufType::kI32, count);
  for (std::size_t i = 0; i < count; ++i) {
    texts += RawText("<" + std::to_string(i) + ">");
    kinds += Raw(std::int32_t{1});
  }
  Set("tokenizer.ggml.model", GgufType::kString, RawText("gpt2"));
  Set("tokenizer.ggml.pre", GgufType::kString, RawText("gpt-2"));
  Set("tokenizer.ggml.tokens", GgufType::kArray, std::move(texts));
  Set("tokenizer.ggml.token_type", GgufType::kArray, std::move(kinds));
  return Set("tokenizer.ggml.eos_token_id", GgufType::kU32, Raw(std::uint32_t{0}));
}

std::uint64_t ModelHeader::tensor_bytes() const {
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : tensors_) bytes += tensor.bytes();
  return bytes;
}

std::string ModelHeader::Bytes() const {
  std::string out = "GGUF" + Raw(std::uint32_t{3}) + Raw(std::uint64_t{tensors_.size()}) +
                    Raw(std::uint64_t{keys_.size()});
  for (const Key& key : keys_) {
    out += RawText(key.name) + Raw(static_cast<std::uint32_t>(key.type)) + key.bytes;
  }
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    out += RawText(tensor.name) + Raw(static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) out += Raw(dim);
    out += Raw(static_cast<std::uint32_t>(tensor.type)) + Raw(offset);
    offset += Aligned(tensor.bytes());
  }
  out.resize(static_cast<std::size_t>(Aligned(out.size())), '\0');
  return out;
}

std::uint64_t ModelHeader::file_bytes() const {
  std::uint64_t bytes = Bytes().size();
  for (const Tensor& tensor : tensors_) bytes += Aligned(tensor.bytes());
  return bytes;
}

// An anonymous file, all holes but for the header, as what maps files wants it.
GgufFile ModelHeader::Open() const {
  const std::string name = name_ + ".gguf";
  errno = 0;
  const Descriptor memory(memfd_create("vt-header", MFD_CLOEXEC));
  Fill(memory.get(), Bytes(), file_bytes(), name);
  Result<MappedFile> mapped = MappedFile::Open("/proc/self/fd/" + std::to_string(memory.get()));
  if (!mapped.ok()) throw std::runtime_error(mapped.status().message());
  GgufContents contents;
  Result<GgufHeader> header = ParseGgufHeader(name, *mapped);
  if (!header.ok()) throw std::runtime_error(header.status().message());
  contents.first = std::move(*header);
  contents.tensors = std::move(contents.first.tensors);
  contents.shards.push_back({.path = name,
                             .file_bytes = mapped->size(),
                             .header_bytes = contents.first.bytes,
                             .version = contents.first.version,
                             .base = mapped->data()});
  contents.files.push_back(std::move(*mapped));
  return GgufFile::FromContents(std::move(contents));
}

void ModelHeader::WriteSparse(const std::string& path) const {
  errno = 0;
  const Descriptor file(open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
  Fill(file.get(), Bytes(), file_bytes(), path);
}

}  // namespace vt::test
