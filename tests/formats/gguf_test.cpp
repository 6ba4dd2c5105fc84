// Reading good files: values, typed reads, tensor table, splits, digests, and the cost of a large
// header.
#include "vt/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "formats/gguf_bytes.h"
#include "support/test_files.h"

namespace vt {
namespace {

using test::GgufBytes;
using test::Packed;

std::string Numbered(std::string text, int number) { return text.append(std::to_string(number)); }

std::string Save(const GgufBytes& bytes) {
  return test::WriteFile(test::TempDir() + "/x.gguf", bytes.Bytes());
}

GgufFile MustOpen(const std::string& path) {
  Result<GgufFile> file = GgufFile::Open(path);
  if (!file.ok()) throw std::runtime_error(file.status().message());
  return std::move(file).value();
}

GgufBytes OneOfEach() {
  GgufBytes bytes;
  bytes.Key("u8", GgufType::kU8, Packed(std::uint8_t{200}));
  bytes.Key("i8", GgufType::kI8, Packed(std::int8_t{-100}));
  bytes.Key("u16", GgufType::kU16, Packed(std::uint16_t{60000}));
  bytes.Key("i16", GgufType::kI16, Packed(std::int16_t{-30000}));
  bytes.Key("u32", GgufType::kU32, Packed(std::uint32_t{4000000000u}));
  bytes.Key("i32", GgufType::kI32, Packed(std::int32_t{-2000000000}));
  bytes.Key("f32", GgufType::kF32, Packed(0.1f));
  bytes.Key("bool", GgufType::kBool, Packed(std::uint8_t{1}));
  bytes.Key("string", GgufType::kString, Packed(std::string_view("caf\xc3\xa9")));
  bytes.Key("u64", GgufType::kU64, Packed(std::numeric_limits<std::uint64_t>::max()));
  bytes.Key("i64", GgufType::kI64, Packed(std::numeric_limits<std::int64_t>::min()));
  bytes.Key("f64", GgufType::kF64, Packed(-1e300));
  bytes.Array("u8s", GgufType::kU8, 3, "\x01\x02\xff");
  // The one byte before puts what follows at an odd address.
  bytes.Array("i16s", GgufType::kI16, 2, Packed(std::int16_t{-2}) + Packed(std::int16_t{7}));
  bytes.Array("f32s", GgufType::kF32, 2, Packed(0.5f) + Packed(-0.0f));
  bytes.Array("i64s", GgufType::kI64, 2, Packed(std::int64_t{-1}) + Packed(std::int64_t{1} << 62));
  bytes.Array("u64s", GgufType::kU64, 1, Packed(std::numeric_limits<std::uint64_t>::max()));
  bytes.Array("f64s", GgufType::kF64, 1, Packed(0.1));
  bytes.Array("bools", GgufType::kBool, 2, std::string("\1\0", 2));
  bytes.Array("strings", GgufType::kString, 3,
              Packed(std::string_view("a")) + Packed(std::string_view("")) +
                  Packed(std::string_view("bc")));
  bytes.Array("none", GgufType::kU32, 0, "");
  return bytes;
}

TEST(Gguf, ScalarsOfEveryType) {
  const GgufFile file = MustOpen(Save(OneOfEach()));
  ASSERT_EQ(file.metadata().size(), 21u);
  EXPECT_EQ(file.metadata()[0].first, "u8");
  EXPECT_EQ(file.metadata()[20].first, "none");
  EXPECT_EQ(file.Find("absent"), nullptr);

  EXPECT_EQ(file.Find("u8")->AsU64(), 200u);
  EXPECT_EQ(file.Find("i8")->AsI64(), -100);
  EXPECT_EQ(file.Find("i8")->AsU64(), std::nullopt);
  EXPECT_EQ(file.Find("u16")->AsI64(), 60000);
  EXPECT_EQ(file.Find("i16")->AsI64(), -30000);
  EXPECT_EQ(file.Find("u32")->AsU64(), 4000000000u);
  EXPECT_EQ(file.Find("i32")->AsF64(), -2e9);
  EXPECT_EQ(file.Find("f32")->AsF64(), double{0.1f});
  EXPECT_EQ(file.Find("f32")->AsU64(), std::nullopt);
  EXPECT_EQ(file.Find("f32")->AsI64(), std::nullopt);
  EXPECT_EQ(file.Find("bool")->AsBool(), true);
  EXPECT_EQ(file.Find("bool")->AsU64(), std::nullopt);
  EXPECT_EQ(file.Find("u8")->AsBool(), std::nullopt);
  EXPECT_EQ(file.Find("string")->text, "caf\xc3\xa9");
  EXPECT_EQ(file.Find("string")->AsF64(), std::nullopt);
  EXPECT_EQ(file.Find("u64")->AsU64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(file.Find("u64")->AsI64(), std::nullopt);
  EXPECT_EQ(file.Find("u64")->AsF64(), 18446744073709551616.0);
  EXPECT_EQ(file.Find("i64")->AsI64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(file.Find("f64")->AsF64(), -1e300);
}

TEST(Gguf, ArraysOfEveryType) {
  const GgufFile file = MustOpen(Save(OneOfEach()));
  EXPECT_EQ(file.Find("u8s")->ElementI64(2), 255);
  EXPECT_EQ(file.Find("u8s")->ElementI64(3), std::nullopt);
  EXPECT_EQ(file.Find("u8s")->AsU64(), std::nullopt);
  EXPECT_EQ(file.Find("i16s")->ElementI64(0), -2);
  EXPECT_EQ(file.Find("i16s")->ElementF64(1), 7.0);
  EXPECT_EQ(file.Find("f32s")->ElementF64(0), 0.5);
  EXPECT_TRUE(std::signbit(*file.Find("f32s")->ElementF64(1)));
  EXPECT_EQ(file.Find("f32s")->ElementI64(0), std::nullopt);
  EXPECT_EQ(file.Find("i64s")->ElementI64(0), -1);
  EXPECT_EQ(file.Find("i64s")->ElementI64(1), std::int64_t{1} << 62);
  EXPECT_EQ(file.Find("u64s")->ElementI64(0), std::nullopt);
  EXPECT_EQ(file.Find("u64s")->ElementF64(0), 18446744073709551616.0);
  EXPECT_EQ(file.Find("f64s")->ElementF64(0), 0.1);
  EXPECT_EQ(file.Find("bools")->ElementI64(0), 1);
  EXPECT_EQ(file.Find("bools")->ElementF64(1), 0.0);
  EXPECT_EQ(*file.Find("strings")->strings, (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(file.Find("strings")->ElementI64(0), std::nullopt);
  EXPECT_EQ(file.Find("none")->count, 0u);
  EXPECT_EQ(file.Find("none")->ElementI64(0), std::nullopt);
}

TEST(Gguf, TypedReads) {
  const GgufFile file = MustOpen(Save(OneOfEach()));
  EXPECT_EQ(file.GetU64("u16").value(), 60000u);
  EXPECT_EQ(file.GetU64("absent").value(), std::nullopt);
  EXPECT_EQ(file.GetF64("f32").value(), double{0.1f});
  EXPECT_EQ(file.GetF64("u8").value(), 200.0);
  EXPECT_EQ(file.GetBool("bool").value(), true);
  EXPECT_EQ(file.GetBool("absent").value(), std::nullopt);
  EXPECT_EQ(file.GetString("string").value(), "caf\xc3\xa9");
  EXPECT_EQ(file.GetString("absent").value(), std::nullopt);
  EXPECT_EQ(file.GetStringArray("strings").value()->strings->size(), 3u);
  EXPECT_EQ(file.GetStringArray("absent").value(), nullptr);
  EXPECT_EQ(file.GetStringArray("none").value()->strings->size(), 0u);
  EXPECT_EQ(file.GetNumberArray("bools").value()->count, 2u);
  EXPECT_EQ(file.GetNumberArray("none").value()->count, 0u);
  EXPECT_EQ(file.GetNumberArray("absent").value(), nullptr);
}

TEST(Gguf, TypedReadsOfWrongTypesNameKeySeenAndWanted) {
  const GgufFile file = MustOpen(Save(OneOfEach()));
  const auto expect = [&file](const Status& status, std::string_view text) {
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find(file.shards()[0].path), 0u) << status.message();
  };
  expect(file.GetU64("f32").status(), "key \"f32\": type f32 (want an integer)");
  expect(file.GetU64("bool").status(), "key \"bool\": type bool (want an integer)");
  expect(file.GetU64("i8").status(), "key \"i8\": value -100 (want 0 or more)");
  expect(file.GetU64("u8s").status(), "key \"u8s\": type array of u8 (want an integer)");
  expect(file.GetF64("string").status(), "key \"string\": type string (want f32, f64");
  expect(file.GetBool("u8").status(), "key \"u8\": type u8 (want bool)");
  expect(file.GetString("strings").status(), "type array of string (want string)");
  expect(file.GetStringArray("u8s").status(), "type array of u8 (want array of string)");
  expect(file.GetStringArray("string").status(), "type string (want array of string)");
  expect(file.GetNumberArray("strings").status(), "type array of string (want array of numbers)");
  expect(file.GetNumberArray("u8").status(), "type u8 (want array of numbers)");
}

TEST(Gguf, TensorsAreWhereTheTableSays) {
  GgufBytes bytes;
  bytes.Tensor("scalar", {}, 0, Packed(1.5f));
  bytes.Tensor("row", {3}, 0, Packed(1.0f) + Packed(2.0f) + Packed(3.0f));
  bytes.Tensor("blocks", {64, 2, 1, 3}, 2, std::string(2 * 18 * 2 * 3, 'q'));
  const std::string path = Save(bytes);
  const GgufFile file = MustOpen(path);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.FindTensor("absent"), nullptr);

  const GgufTensor& scalar = *file.FindTensor("scalar");
  EXPECT_EQ(scalar.dims, std::vector<std::uint64_t>{1});
  EXPECT_EQ(scalar.bytes, 4u);
  EXPECT_EQ(std::memcmp(file.Data(scalar), Packed(1.5f).data(), 4), 0);

  const GgufTensor& row = *file.FindTensor("row");
  EXPECT_EQ(row.offset, scalar.offset + 32);
  EXPECT_EQ(std::memcmp(file.Data(row) + 8, Packed(3.0f).data(), 4), 0);

  const GgufTensor& blocks = *file.FindTensor("blocks");
  EXPECT_EQ(blocks.type, DType::kQ4_0);
  EXPECT_EQ(blocks.cols(), 64u);
  EXPECT_EQ(blocks.rows(), 6u);
  EXPECT_EQ(blocks.bytes, 216u);
  EXPECT_EQ(file.shards()[0].header_bytes, scalar.offset);
  EXPECT_EQ(file.shards()[0].file_bytes, std::filesystem::file_size(path));
  EXPECT_EQ(file.total_bytes(), std::filesystem::file_size(path));
}

TEST(Gguf, HeaderOnlyFile) {
  const GgufFile file = MustOpen(Save(OneOfEach()));
  EXPECT_TRUE(file.tensors().empty());
  EXPECT_EQ(file.shards()[0].header_bytes, file.total_bytes());
}

TEST(Gguf, MovedFileStillReads) {
  GgufFile first = MustOpen(Save(OneOfEach()));
  GgufFile second = std::move(first);
  first = MustOpen(Save(GgufBytes()));
  EXPECT_EQ(second.Find("u8")->AsU64(), 200u);
  second = std::move(first);
  EXPECT_TRUE(second.metadata().empty());
}

TEST(Gguf, UnreadableFileSaysWhy) {
  const std::string path = Save(OneOfEach());
  std::filesystem::permissions(path, std::filesystem::perms::none);
  // Root may read everything, so it becomes another user for a moment.
  const uid_t user = ::geteuid();
  ASSERT_EQ(user == 0 ? ::seteuid(65534) : 0, 0);
  const Status status = GgufFile::Open(path).status();
  ASSERT_EQ(user == 0 ? ::seteuid(0) : 0, 0);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("Permission denied"), std::string::npos) << status.message();
}

std::string LibraryDigest(const std::string& bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return std::string("xxh3-128:") + text;
}

TEST(Gguf, Digests) {
  GgufBytes bytes = OneOfEach();
  bytes.Tensor("t", {300}, 0, std::string(1200, 'x'));
  const std::string path = Save(bytes);
  const GgufFile file = MustOpen(path);
  const std::string content = bytes.Bytes();
  EXPECT_EQ(file.ContentDigest(), LibraryDigest(content));
  const std::uint64_t header = file.shards()[0].header_bytes;
  EXPECT_EQ(file.HeaderDigest(),
            LibraryDigest(content.substr(0, header) + Packed(std::uint64_t{content.size()})));

  std::string other = content;
  other.back() = 'y';
  test::WriteFile(path, other);
  EXPECT_EQ(MustOpen(path).HeaderDigest(), file.HeaderDigest());
  EXPECT_EQ(MustOpen(path).ContentDigest(), LibraryDigest(other));
  test::WriteFile(path, content + "z");
  EXPECT_NE(MustOpen(path).HeaderDigest(), LibraryDigest(content));
}

// Resident bytes of this process.
std::uint64_t ResidentBytes() {
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// What a very large real model has, twice over; then hostile numbers of everything.
TEST(Gguf, LargeHeaderIsFastAndSmall) {
  GgufBytes bytes;
  std::string tokens;
  for (int i = 0; i < 260'000; ++i) tokens += Packed(std::string_view(Numbered("token ", i)));
  bytes.Array("tokenizer.ggml.tokens", GgufType::kString, 260'000, tokens);
  bytes.Array("tokenizer.ggml.scores", GgufType::kF32, 260'000, std::string(1'040'000, '\0'));
  for (int i = 0; i < 2000; ++i) {
    bytes.Tensor(Numbered("blk.", i) + ".ffn_down_exps.weight", {32, 1}, 0, std::string(128, 'x'));
  }
  const std::string path = Save(bytes);
  const std::uint64_t before = ResidentBytes();
  const auto start = std::chrono::steady_clock::now();
  const GgufFile file = MustOpen(path);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::uint64_t after = ResidentBytes();
  EXPECT_EQ(file.tensors().size(), 2000u);
  EXPECT_EQ(file.Find("tokenizer.ggml.tokens")->strings->back(), "token 259999");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(took.count(), 0.1);
  EXPECT_LT(after - before, std::uint64_t{32} << 20);
#endif
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
  RecordProperty("mebibytes", static_cast<int>((after - before) >> 20));
}

TEST(Gguf, HostileNumbersStayUnderTheMemoryPromise) {
  GgufBytes bytes;
  for (int i = 0; i < 16'000; ++i) {
    bytes.Key(Numbered("k", i), GgufType::kU8, std::string(1, '\0'));
  }
  bytes.Array("strings", GgufType::kString, 2'000'000, std::string(16'000'000, '\0'));
  for (int i = 0; i < 65'536; ++i) {
    bytes.Tensor(Numbered("t", i), {1, 1, 1, 1}, 24, std::string(1, 'x'));
  }
  const std::string path = Save(bytes);
  const std::uint64_t before = ResidentBytes();
  const auto start = std::chrono::steady_clock::now();
  const GgufFile file = MustOpen(path);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::uint64_t after = ResidentBytes();
  EXPECT_EQ(file.tensors().size(), 65'536u);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(took.count(), 1.0);
  EXPECT_LT(after - before, std::uint64_t{64} << 20);
#endif
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
  RecordProperty("mebibytes", static_cast<int>((after - before) >> 20));
}

TEST(Gguf, BeyondTheLimitsIsUnsupported) {
  GgufBytes keys;
  for (int i = 0; i < 16'385; ++i) {
    keys.Key(Numbered("k", i), GgufType::kU8, std::string(1, '\0'));
  }
  GgufBytes strings;
  for (int i = 0; i < 3; ++i) {
    strings.Array(Numbered("s", i), GgufType::kString, 700'000, std::string(700'000 * 8, '\0'));
  }
  for (const GgufBytes* bytes : {&keys, &strings}) {
    const Status status = GgufFile::Open(Save(*bytes)).status();
    EXPECT_EQ(status.code(), Code::kUnsupported) << status.message();
  }
}

// A header of a gigabyte in a sparse file: long strings, and a long packed array.
TEST(Gguf, HugeHeaderIsRefusedQuickly) {
  for (const GgufType type : {GgufType::kString, GgufType::kBool, GgufType::kU64}) {
    const std::uint64_t size = std::uint64_t{1} << 30;
    GgufBytes bytes;
    const bool text = type == GgufType::kString;
    bytes.Array("k", type, text ? 2'000'000 : (size - 4096) / (type == GgufType::kBool ? 1 : 8),
                "");
    const std::string path = Save(bytes);
    std::filesystem::resize_file(path, size);
    if (text) {
      std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
      std::uint64_t at = bytes.Bytes().size();
      for (; at + 600'000 < size; at += 500'008) {
        out.seekp(static_cast<std::streamoff>(at));
        out << Packed(std::uint64_t{500'000});
      }
    }
    const auto start = std::chrono::steady_clock::now();
    const Status status = GgufFile::Open(path).status();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(status.code(), Code::kUnsupported) << status.message();
    EXPECT_LT(took.count(), 1.0);
  }
}

}  // namespace
}  // namespace vt
