// Builds the bytes of safetensors files and Hugging Face folders for tests, from the format's
// description.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace vt::test {

class SafetensorsBytes {
 public:
  // Data follow each other in the order of the calls.
  void Tensor(std::string_view name, std::string_view dtype,
              const std::vector<std::uint64_t>& shape, std::string_view data) {
    std::ostringstream json;
    json << R"({"dtype":")" << dtype << R"(","shape":[)";
    for (std::size_t i = 0; i < shape.size(); ++i) json << (i == 0 ? "" : ",") << shape[i];
    json << R"(],"data_offsets":[)" << data_.size() << ',' << data_.size() + data.size() << "]}";
    data_ += data;
    Entry(name, json.str());
  }
  // One member of the header, its value as JSON.
  void Entry(std::string_view name, std::string_view json) {
    header_.append(header_.empty() ? "\"" : ",\"").append(name).append("\":").append(json);
  }
  void Data(std::string_view data) { data_ += data; }

  // Padded with spaces, so that the data begin at a multiple of 8.
  std::string Header() const {
    std::string header = std::string("{").append(header_).append("}");
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return header;
  }
  std::string Bytes() const { return WithHeader(Header(), data_); }

  static std::string WithHeader(const std::string& header, std::string_view data) {
    const std::uint64_t length = header.size();
    std::string out(sizeof(length), '\0');
    std::memcpy(out.data(), &length, sizeof(length));
    return out + header + std::string(data);
  }

 private:
  std::string header_, data_;
};

inline std::string F32Bytes(const std::vector<float>& values) {
  std::string out(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

inline void WriteBytes(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace vt::test
