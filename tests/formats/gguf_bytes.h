// Builds the bytes of GGUF files for tests, from the format's specification.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vt/gguf.h"

namespace vt::test {

template <class T>
requires std::is_arithmetic_v<T> std::string Packed(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

inline std::string Packed(std::string_view text) {
  return Packed(std::uint64_t{text.size()}) + std::string(text);
}

class GgufBytes {
 public:
  // `value`: the bytes after the type.
  void Key(std::string_view name, GgufType type, const std::string& value) {
    keys_ += Packed(name) + Packed(static_cast<std::uint32_t>(type)) + value;
    ++key_count_;
  }
  // `elements`: the packed bytes of `count` elements.
  void Array(std::string_view name, GgufType element, std::uint64_t count,
             const std::string& elements) {
    Key(name, GgufType::kArray,
        Packed(static_cast<std::uint32_t>(element)) + Packed(count) + elements);
  }
  void Tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
              const std::string& data) {
    tensors_ += Packed(name) + Packed(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) tensors_ += Packed(dim);
    tensors_ += Packed(type) + Packed(std::uint64_t{data_.size()});
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensor_count_;
  }
  std::string Bytes() const {
    std::string out = "GGUF" + Packed(std::uint32_t{3}) + Packed(tensor_count_) +
                      Packed(key_count_) + keys_ + tensors_;
    if (tensor_count_ != 0) out.resize((out.size() + 31) / 32 * 32);
    return out + data_;
  }

 private:
  std::string keys_, tensors_, data_;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

inline std::string WriteFile(const std::string& path, std::string_view bytes) {
  // A new file each time: some file systems write one that is cut in place to disk at once.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace vt::test
