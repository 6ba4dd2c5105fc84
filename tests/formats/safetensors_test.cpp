// Safetensors headers: what is read from good ones, and what each kind of damage is told.
#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include "support/safetensors_bytes.h"
#include "support/test_files.h"

namespace vt {
namespace {

using test::SafetensorsBytes;

struct Parsed {
  MappedFile file;
  TextArena texts;
  Result<SafetensorsHeader> header = Status(Code::kInternal, "not read");
};

Parsed Parse(const std::string& path, const std::string& bytes) {
  test::WriteBytes(path, bytes);
  Parsed parsed;
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) {
    parsed.header = file.status();
    return parsed;
  }
  parsed.file = std::move(file).value();
  parsed.header = ParseSafetensors(path, parsed.file, parsed.texts);
  return parsed;
}

SafetensorsBytes Good() {
  SafetensorsBytes bytes;
  bytes.Entry("__metadata__", R"({"format":"pt"})");
  bytes.Tensor("a.weight", "F32", {2, 3}, std::string(24, 'a'));
  bytes.Tensor("b", "BF16", {}, "bb");
  bytes.Tensor("none", "I64", {0, 4}, "");
  bytes.Tensor("c\\u00e9\\n", "F8_E4M3", {1, 5}, "ccccc");
  return bytes;
}

// The message for a file, without the path before it.
class SafetensorsBroken : public testing::Test {
 protected:
  std::string Message(const std::string& bytes, Code code = Code::kCorrupt) {
    const Parsed parsed = Parse(path_, bytes);
    EXPECT_FALSE(parsed.header.ok());
    const Status status = parsed.header.status();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_EQ(status.at(), path_);
    EXPECT_EQ(status.message().rfind(path_ + ": ", 0), 0u) << status.message();
    return status.message().substr(std::min(status.message().size(), path_.size() + 2));
  }
  // Of a header alone, with `data` bytes of data after it.
  std::string OfHeader(const std::string& header, std::size_t data, Code code = Code::kCorrupt) {
    return Message(SafetensorsBytes::WithHeader(header, std::string(data, 'x')), code);
  }

  std::string path_ = test::TempDir() + "/x.safetensors";
};

constexpr char kFour[] = R"("dtype":"U8","shape":[4])";

TEST(Safetensors, ReadsNamesTypesShapesAndPlaces) {
  const Parsed parsed = Parse(test::TempDir() + "/x.safetensors", Good().Bytes());
  ASSERT_TRUE(parsed.header.ok()) << parsed.header.status().message();
  const auto& tensors = parsed.header->tensors;
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(parsed.header->bytes, 8 + Good().Header().size());
  EXPECT_EQ(tensors[0].name, "a.weight");
  EXPECT_EQ(tensors[0].type->name, "F32");
  EXPECT_EQ(ShapeText(tensors[0].shape()), "[2, 3]");
  EXPECT_EQ(tensors[0].offset, parsed.header->bytes);
  EXPECT_EQ(tensors[0].bytes, 24u);
  EXPECT_EQ(tensors[1].rank, 0u);
  EXPECT_EQ(tensors[1].offset, parsed.header->bytes + 24);
  EXPECT_FALSE(tensors[2].type->known);
  EXPECT_EQ(tensors[2].bytes, 0u);
  EXPECT_EQ(tensors[3].name, "c\xc3\xa9\n");
  EXPECT_EQ(tensors[3].type->type, DType::kF8_E4M3);
}

TEST(Safetensors, SpacesMayFollowTheHeader) {
  const Parsed parsed =
      Parse(test::TempDir() + "/x.safetensors",
            SafetensorsBytes::WithHeader(Good().Header() + "   ", std::string(31, 'x')));
  EXPECT_TRUE(parsed.header.ok()) << parsed.header.status().message();
}

TEST_F(SafetensorsBroken, Length) {
  EXPECT_EQ(Message("1234567"),
            "7 bytes (a safetensors file begins with 8 bytes of header length); the file is cut "
            "short, fetch it again");
  EXPECT_EQ(Message(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "header of 16 bytes, but the file has 2 after its length; the file is cut short, fetch "
            "it again");
  EXPECT_EQ(Message(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)),
            "header of 18446744073709551615 bytes (the format allows 100000000); the file is "
            "damaged or no safetensors file");
  EXPECT_EQ(Message("version https://git-lfs.github.com/spec/v1\n"),
            "not a safetensors file: this looks like a git-lfs pointer, fetch the file itself");
}

TEST_F(SafetensorsBroken, Json) {
  EXPECT_EQ(OfHeader("[]", 0),
            "the header is not valid JSON: \"[\" where an object is wanted (byte 0)");
  EXPECT_EQ(OfHeader(R"({"a":)", 0),
            "the header is not valid JSON: ends where an object is wanted (byte 5)");
  EXPECT_EQ(OfHeader("{} x", 0),
            "the header is not valid JSON: something follows the value (byte 3)");
  EXPECT_EQ(OfHeader(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1),
            "the header is not valid JSON: -1 where a whole number from 0 to 18446744073709551615 "
            "is wanted (byte 30)");
  EXPECT_EQ(OfHeader("{\"\xff\":{}}", 0),
            "the header is not valid JSON: a string that is not UTF-8 (byte 3)");
  EXPECT_EQ(OfHeader(R"({"__metadata__":)" + std::string(100, '['), 0),
            "the header is not valid JSON: nested deeper than 64 levels (byte 80)");
}

TEST_F(SafetensorsBroken, Members) {
  EXPECT_EQ(OfHeader(R"({"a":{"dtype":"U8","shape":[0]}})", 0),
            "tensor \"a\": member \"data_offsets\" is missing");
  EXPECT_EQ(OfHeader(R"({"a":{"dtype":"U8","dtype":"U8"}})", 0),
            "tensor \"a\": member \"dtype\" occurs twice");
  EXPECT_EQ(OfHeader(R"({"a":{"type":"U8"}})", 0),
            "tensor \"a\": member \"type\" is not known (allowed: dtype, shape, data_offsets)");
  EXPECT_EQ(OfHeader(R"({"a":{"data_offsets":[0,1,2]}})", 4),
            "tensor \"a\": 3 data offsets (want begin and end)");
  EXPECT_EQ(
      OfHeader(R"({"a":{"dtype":"F8","shape":[0],"data_offsets":[0,0]}})", 0, Code::kUnsupported),
      "tensor \"a\": dtype \"F8\" is not known (known: F32, F16, BF16, F8_E4M3, BOOL, U8, I8, "
      "F8_E5M2, F8_E8M0, I16, U16, I32, U32, F64, I64, U64); convert the model to one of F32, F16, "
      "BF16");
}

TEST_F(SafetensorsBroken, Twice) {
  const auto twice = [](const std::string& second) {
    const std::string entry = std::string("{") + kFour + R"(,"data_offsets":[0,4]})";
    return std::string(R"({"a":)") + entry + R"(,")" + second + R"(":)" + entry + "}";
  };
  EXPECT_EQ(OfHeader(twice("a"), 4), "tensor \"a\" occurs twice in the header");
  // The same name, written in another way.
  EXPECT_EQ(OfHeader(twice("\\u0061"), 4), "tensor \"a\" occurs twice in the header");
  EXPECT_EQ(OfHeader(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "\"__metadata__\" occurs twice in the header");
}

TEST_F(SafetensorsBroken, Offsets) {
  const auto with = [](const std::string& offsets) {
    return std::string("{\"a\":{") + kFour + ",\"data_offsets\":" + offsets + "}}";
  };
  EXPECT_EQ(OfHeader(with("[4,0]"), 4), "tensor \"a\": its data begin at 4, after their end at 0");
  EXPECT_EQ(OfHeader(with("[0,4]"), 3),
            "tensor \"a\": its data end at 4, outside the file: 4 bytes of data expected, 3 "
            "present; the file is cut short or damaged, fetch it again");
  EXPECT_EQ(OfHeader(with("[0,18446744073709551615]"), 4),
            "tensor \"a\": its data end at 18446744073709551615, outside the file: "
            "18446744073709551615 bytes of data expected, 4 present; the file is cut short or "
            "damaged, fetch it again");
  EXPECT_EQ(OfHeader(with("[0,3]"), 4),
            "tensor \"a\": shape [4] of U8 takes 4 bytes, its data offsets span 3");
  EXPECT_EQ(OfHeader(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
                     R"("data_offsets":[0,0]}})",
                     0),
            "tensor \"a\": shape [4294967296, 4294967296] of F32 takes 2^64 or more bytes, its "
            "data offsets span 0");
}

TEST_F(SafetensorsBroken, Cover) {
  const auto two = [](const std::string& a, const std::string& b) {
    return std::string("{\"a\":{") + kFour + ",\"data_offsets\":" + a + "},\"b\":{" + kFour +
           ",\"data_offsets\":" + b + "}}";
  };
  EXPECT_EQ(OfHeader(two("[0,4]", "[2,6]"), 6),
            "tensor \"b\": its data begin at 2, inside tensor \"a\" (0 to 4)");
  EXPECT_EQ(OfHeader(two("[0,4]", "[0,4]"), 4),
            "tensor \"b\": its data begin at 0, inside tensor \"a\" (0 to 4)");
  EXPECT_EQ(
      OfHeader(two("[5,9]", "[0,4]"), 9),
      "tensor \"a\": its data begin at 5, but 1 bytes before, from 4 on, belong to no tensor");
  EXPECT_EQ(
      OfHeader(two("[1,5]", "[5,9]"), 9),
      "tensor \"a\": its data begin at 1, but 1 bytes before, from 0 on, belong to no tensor");
  EXPECT_EQ(
      OfHeader(two("[0,4]", "[4,8]"), 10),
      "2 bytes follow the data of the last tensor, which end at 8; the file is damaged, fetch "
      "it again");
}

TEST(SafetensorsHostile, EveryTruncationIsAnError) {
  const std::string path = test::TempDir() + "/x.safetensors";
  const std::string whole = Good().Bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Parse(path, whole.substr(0, size)).header.ok()) << size;
  }
}

// What is still a header after a flip says the same of its data, but for names, types of the same
// size and shapes of the same product.
TEST(SafetensorsHostile, EveryFlipIsAnErrorOrCoversTheSameBytes) {
  const std::string path = test::TempDir() + "/x.safetensors";
  const std::string whole = Good().Bytes();
  const std::size_t header = 8 + Good().Header().size();
  std::size_t errors = 0;
  for (std::size_t at = 0; at < header; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const Parsed parsed = Parse(path, bytes);
      if (!parsed.header.ok()) {
        ++errors;
        continue;
      }
      std::uint64_t sum = 0;
      for (const SafetensorsTensor& tensor : parsed.header->tensors) {
        sum += tensor.bytes;
        EXPECT_LE(tensor.offset + tensor.bytes, whole.size());
      }
      EXPECT_EQ(parsed.header->bytes + sum, whole.size()) << at << " " << bit;
    }
  }
  EXPECT_GT(errors, header * 4);
}

}  // namespace
}  // namespace vt
