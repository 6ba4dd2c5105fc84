// Damaged, hostile and odd files: the corpus of make_broken_gguf.py, every cut of a file, and
// thousands of files with wrong bytes.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "formats/gguf_bytes.h"
#include "support/test_files.h"
#include "vt/gguf.h"

namespace vt {
namespace {

using nlohmann::json;
using test::GgufBytes;
using test::Packed;

// The folder with the corpus; empty when python3 is missing.
const std::string& Corpus() {
  static const std::string folder = [] {
    if (std::system("python3 -c pass >/dev/null 2>&1") != 0) return std::string();
    std::string made = test::TempDir();
    const std::string command =
        "python3 -B '" + test::DataPath("make_broken_gguf.py") + "' '" + made + "'";
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << "failed: " << command;
    return made;
  }();
  return folder;
}

TEST(BrokenGguf, Corpus) {
  if (Corpus().empty()) VT_NOT_RUN("python3");
  const json index = json::parse(test::ReadFile(Corpus() + "/index.json"));
  ASSERT_GE(index.size(), 60u);
  std::size_t container = 0;
  for (const json& row : index) {
    const auto name = row["file"].get<std::string>();
    SCOPED_TRACE(name + ": " + row["note"].get<std::string>());
    const bool ours = row["layer"] == "container";
    container += ours;
    const auto start = std::chrono::steady_clock::now();
    const Result<GgufFile> file = GgufFile::Open(Corpus() + "/" + name);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 1.0);
    const std::string message = file.status().message();
    EXPECT_EQ(ExitCode(file.status().code()), ours ? row["expect_exit"].get<int>() : 0) << message;
    if (!ours || file.ok()) continue;
    EXPECT_LT(message.size(), 2000u);
    for (const json& part : row["message_contains"]) {
      EXPECT_NE(message.find(part.get<std::string>()), std::string::npos)
          << "want " << part << " in: " << message;
    }
    EXPECT_NE(message.find(Corpus()), std::string::npos) << "no path in: " << message;
    EXPECT_FALSE(file.status().at().empty());
  }
  EXPECT_GE(container, 100u);
}

// Any shard, or a link to one, gives the same model.
TEST(BrokenGguf, SplitsAreOneModel) {
  if (Corpus().empty()) VT_NOT_RUN("python3");
  const Result<GgufFile> whole = GgufFile::Open(Corpus() + "/legal-base.gguf");
  ASSERT_TRUE(whole.ok());
  std::string digest;
  for (const char* name :
       {"split-first/m-00001-of-00003.gguf", "split-second/m-00002-of-00003.gguf",
        "split-last/m-00003-of-00003.gguf", "split-link/model.gguf",
        "split-cache/snapshot/m-00001-of-00003.gguf", "split-swapped/m-00001-of-00003.gguf"}) {
    SCOPED_TRACE(name);
    const Result<GgufFile> file = GgufFile::Open(Corpus() + "/" + name);
    ASSERT_TRUE(file.ok()) << file.status().message();
    ASSERT_EQ(file->shards().size(), 3u);
    EXPECT_EQ(file->Find("split.no")->AsU64(), 0u);
    EXPECT_EQ(file->metadata().size(), whole->metadata().size() + 3);
    ASSERT_EQ(file->tensors().size(), whole->tensors().size());
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      const GgufTensor& mine = file->tensors()[i];
      const GgufTensor& other = whole->tensors()[i];
      EXPECT_EQ(mine.name, other.name);
      EXPECT_EQ(mine.dims, other.dims);
      EXPECT_EQ(mine.shard, i / 7);
      EXPECT_EQ(std::memcmp(file->Data(mine), whole->Data(other), mine.bytes), 0);
    }
    if (digest.empty()) digest = file->HeaderDigest();
    EXPECT_EQ(file->HeaderDigest(), digest);
  }
}

// A header with every kind of field, and two tensors.
std::string Sample() {
  GgufBytes bytes;
  bytes.Key("general.architecture", GgufType::kString, Packed(std::string_view("llama")));
  bytes.Key("f", GgufType::kF64, Packed(1.0));
  bytes.Key("b", GgufType::kBool, std::string(1, '\1'));
  bytes.Key("general.alignment", GgufType::kU32, Packed(std::uint32_t{32}));
  bytes.Array("n", GgufType::kU16, 3, "aabbcc");
  bytes.Array("s", GgufType::kString, 2,
              Packed(std::string_view("one")) + Packed(std::string_view("three")));
  bytes.Tensor("w", {32, 4}, 2, std::string(18 * 4, 'x'));
  bytes.Tensor("v", {8}, 0, std::string(32, 'y'));
  return bytes.Bytes();
}

TEST(BrokenGguf, EveryCutIsRefused) {
  const std::string whole = Sample();
  const std::string path = test::TempDir() + "/cut.gguf";
  test::WriteFile(path, whole);
  ASSERT_TRUE(GgufFile::Open(path).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::WriteFile(path, std::string_view(whole).substr(0, size));
    const Status status = GgufFile::Open(path).status();
    ASSERT_EQ(status.code(), Code::kCorrupt) << size << " of " << whole.size();
    EXPECT_EQ(status.message().find(path), 0u);
  }
}

// Whatever opens keeps its promises, so that reading all of it touches only the file.
void Touch(const GgufFile& file) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : file.metadata()) {
    sum += key.size() + value.text.size();
    for (std::uint64_t i = 0; i < value.count; ++i) {
      sum += value.ElementI64(i).has_value() + value.ElementF64(i).has_value();
    }
    if (value.strings) {
      for (const std::string_view text : *value.strings) {
        for (const char c : text) sum += static_cast<unsigned char>(c);
      }
    }
  }
  for (const GgufTensor& tensor : file.tensors()) {
    for (std::uint64_t i = 0; i < tensor.bytes; ++i) {
      sum += std::to_integer<std::uint64_t>(file.Data(tensor)[i]);
    }
    EXPECT_EQ(file.FindTensor(tensor.name), &tensor);
  }
  EXPECT_NE(sum, 0u);
}

TEST(BrokenGguf, WrongBytesNeverReachPastTheFile) {
  const std::string whole = Sample();
  const std::string path = test::TempDir() + "/wrong.gguf";
  std::mt19937 random(1);
  const std::string odd[] = {std::string(8, '\xff'),
                             std::string(8, '\0'),
                             std::string("\0\0\0\0\0\0\0\x80", 8),
                             std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8),
                             std::string("\0\0\0\0\1\0\0\0", 8),
                             std::string("\t\0\0\0", 4)};
  std::size_t opened = 0;
  constexpr int kFiles = 2000;
  for (int i = 0; i < kFiles; ++i) {
    std::string bytes = whole;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int change = 0; change < changes; ++change) {
      const std::size_t at = random() % bytes.size();
      if (random() % 2) {
        bytes[at] = static_cast<char>(random());
      } else {
        const std::string& text = odd[random() % std::size(odd)];
        bytes.replace(at, std::min(text.size(), bytes.size() - at), text);
      }
    }
    test::WriteFile(path, bytes);
    const Result<GgufFile> file = GgufFile::Open(path);
    if (!file.ok()) {
      EXPECT_TRUE(file.status().code() == Code::kCorrupt ||
                  file.status().code() == Code::kUnsupported)
          << file.status().message();
      continue;
    }
    ++opened;
    Touch(file.value());
  }
  EXPECT_GT(opened, 100u);
  EXPECT_LT(opened, static_cast<std::size_t>(kFiles) - 400);
}

}  // namespace
}  // namespace vt
