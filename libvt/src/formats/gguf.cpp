#include "vt/gguf.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/file_error.h"
#include "formats/gguf_contents.h"
#include "formats/gguf_cut.h"
#include "formats/gguf_split.h"
#include "formats/hf_folder.h"

namespace vt {
namespace {

class Digest {
 public:
  Digest() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }

  void Add(const void* bytes, std::uint64_t count) {
    XXH3_128bits_update(state_.get(), bytes, static_cast<std::size_t>(count));
  }

  std::string Text() const {
    constexpr char kHex[] = "0123456789abcdef";
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
    std::string text = "xxh3-128:";
    for (const unsigned char byte : canonical.digest) {
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
    return text;
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace

struct GgufFile::Impl : GgufContents {
  NameIndex tensor_index;
};

GgufFile::GgufFile() : impl_(std::make_unique<Impl>()) {}
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

Result<GgufFile> GgufFile::Open(const std::string& path) {
  if (const std::string folder = HfFolderOf(path); !folder.empty()) {
    VT_ASSIGN_OR_RETURN(GgufContents contents, OpenHfFolder(folder));
    return FromContents(std::move(contents));
  }
  VT_ASSIGN_OR_RETURN(std::vector<OpenShard> opened, OpenShards(path));
  GgufContents contents;
  for (OpenShard& shard : opened) {
    contents.shards.push_back({.path = std::move(shard.path),
                               .file_bytes = shard.file.size(),
                               .header_bytes = shard.header.bytes,
                               .version = shard.header.version,
                               .base = shard.file.data()});
    contents.files.push_back(std::move(shard.file));
    std::vector<GgufTensor>& tensors = shard.header.tensors;
    if (contents.tensors.empty()) {
      contents.tensors = std::move(tensors);
    } else {
      contents.tensors.insert(contents.tensors.end(), std::make_move_iterator(tensors.begin()),
                              std::make_move_iterator(tensors.end()));
    }
    tensors = {};
  }
  contents.first = std::move(opened.front().header);
  return FromContents(std::move(contents));
}

GgufFile GgufFile::FromContents(GgufContents contents) {
  GgufFile file;
  Impl& impl = *file.impl_;
  static_cast<GgufContents&>(impl) = std::move(contents);
  impl.tensor_index.reserve(impl.tensors.size());
  for (std::size_t i = 0; i < impl.tensors.size(); ++i) {
    impl.tensor_index.emplace(impl.tensors[i].name, i);
  }
  return file;
}

const std::vector<GgufShard>& GgufFile::shards() const { return impl_->shards; }
const std::vector<GgufTensor>& GgufFile::tensors() const { return impl_->tensors; }

const GgufTensor* GgufFile::FindTensor(std::string_view name) const {
  const auto found = impl_->tensor_index.find(name);
  return found == impl_->tensor_index.end() ? nullptr : &impl_->tensors[found->second];
}

const std::byte* GgufFile::Data(const GgufTensor& tensor) const {
  if (!Contiguous(tensor)) return nullptr;
  return impl_->shards[tensor.shard].base + tensor.offset;
}

void GgufFile::CopyTo(const GgufTensor& tensor, std::byte* out) const {
  if (!tensor.cut) return CopyRange(tensor, 0, tensor.bytes, out);
  const GgufTensorPart& scales = tensor.cut->scales;
  CopyCut(*tensor.cut, impl_->shards[tensor.parts[0].shard].base + tensor.parts[0].offset,
          impl_->shards[scales.shard].base + scales.offset, out);
}

void GgufFile::CopyRange(const GgufTensor& tensor, std::uint64_t begin, std::uint64_t count,
                         std::byte* out) const {
  if (tensor.cut) {
    std::vector<std::byte> all(static_cast<std::size_t>(tensor.bytes));
    CopyTo(tensor, all.data());
    std::memcpy(out, all.data() + begin, static_cast<std::size_t>(count));
    return;
  }
  const GgufTensorPart whole{tensor.shard, tensor.offset, tensor.bytes};
  const std::span<const GgufTensorPart> parts =
      tensor.parts.empty() ? std::span(&whole, 1) : tensor.parts;
  for (const GgufTensorPart& part : parts) {
    if (count == 0) return;
    if (begin >= part.bytes) {
      begin -= part.bytes;
      continue;
    }
    const std::uint64_t now = std::min(count, part.bytes - begin);
    std::memcpy(out, impl_->shards[part.shard].base + part.offset + begin,
                static_cast<std::size_t>(now));
    out += now;
    count -= now;
    begin = 0;
  }
}

void GgufFile::Release(const GgufTensor& tensor) const {
  const GgufTensorPart whole{tensor.shard, tensor.offset, tensor.bytes};
  const std::span<const GgufTensorPart> parts =
      tensor.parts.empty() ? std::span(&whole, 1) : tensor.parts;
  for (const GgufTensorPart& part : parts) {
    for (const MappedFile& file : impl_->files) {
      if (file.data() != impl_->shards[part.shard].base) continue;
      file.Release(part.offset, part.offset + part.bytes);
    }
  }
}

const std::vector<std::pair<std::string_view, GgufValue>>& GgufFile::metadata() const {
  return impl_->first.metadata;
}

const GgufValue* GgufFile::Find(std::string_view key) const { return impl_->first.Find(key); }

Result<std::optional<std::uint64_t>> GgufFile::GetU64(std::string_view key) const {
  return ReadU64(impl_->shards[0].path, key, Find(key));
}

Result<std::optional<double>> GgufFile::GetF64(std::string_view key) const {
  return ReadF64(impl_->shards[0].path, key, Find(key));
}

Result<std::optional<bool>> GgufFile::GetBool(std::string_view key) const {
  return ReadBool(impl_->shards[0].path, key, Find(key));
}

Result<std::optional<std::string_view>> GgufFile::GetString(std::string_view key) const {
  return ReadString(impl_->shards[0].path, key, Find(key));
}

Result<const GgufValue*> GgufFile::GetStringArray(std::string_view key) const {
  const GgufValue* const value = Find(key);
  VT_RETURN_IF_ERROR(CheckStringArray(impl_->shards[0].path, key, value));
  return value;
}

Result<const GgufValue*> GgufFile::GetNumberArray(std::string_view key) const {
  const GgufValue* const value = Find(key);
  VT_RETURN_IF_ERROR(CheckNumberArray(impl_->shards[0].path, key, value));
  return value;
}

std::uint64_t GgufFile::total_bytes() const {
  std::uint64_t bytes = 0;
  for (const GgufShard& shard : impl_->shards) bytes += shard.file_bytes;
  return bytes;
}

std::string GgufFile::HeaderDigest() const {
  Digest digest;
  for (const GgufShard& shard : impl_->shards) {
    if (shard.computed) continue;
    digest.Add(shard.base, shard.header_bytes);
    digest.Add(&shard.file_bytes, sizeof(shard.file_bytes));
  }
  return digest.Text();
}

std::string GgufFile::ContentDigest() const {
  Digest digest;
  for (const GgufShard& shard : impl_->shards) {
    if (!shard.computed) digest.Add(shard.base, shard.file_bytes);
  }
  return digest.Text();
}

}  // namespace vt
