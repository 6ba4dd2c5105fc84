// vt.model/1 documents read back as headers.
#include "formats/model_document.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "caps/model_header.h"

namespace vt::test {
namespace {

using Json = nlohmann::ordered_json;

// The part of a vt.model/1 document that is read back.
std::string DocumentOf(const GgufFile& file) {
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.model/1").Key("model").BeginObject();
  json.Field("file", "there.gguf").Field("digest", file.HeaderDigest());
  json.Field("bytes", file.total_bytes()).Key("shards").BeginArray();
  for (const GgufShard& shard : file.shards()) {
    json.BeginObject().Field("bytes", shard.file_bytes).EndObject();
  }
  json.EndArray().EndObject();
  WriteMetadata(json, file);
  json.Key("tensors").BeginArray();
  for (const GgufTensor& tensor : file.tensors()) {
    json.BeginObject().Field("name", tensor.name).Field("type", NameOf(tensor.type));
    json.Key("dims").BeginArray();
    for (const std::uint64_t dim : tensor.dims) json.Value(dim);
    json.EndArray().Field("shard", tensor.shard).Field("offset", tensor.offset);
    json.Field("bytes", tensor.bytes).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string EveryType() {
  ModelHeader header("llama");
  GgufBytes& bytes = header.bytes();
  bytes.Key("u8", GgufType::kU8, Packed(std::uint8_t{255}));
  bytes.Key("i8", GgufType::kI8, Packed(std::int8_t{-128}));
  bytes.Key("u16", GgufType::kU16, Packed(std::uint16_t{65535}));
  bytes.Key("i16", GgufType::kI16, Packed(std::int16_t{-32768}));
  bytes.Key("u32", GgufType::kU32, Packed(std::uint32_t{4294967295u}));
  bytes.Key("i32", GgufType::kI32, Packed(std::numeric_limits<std::int32_t>::min()));
  bytes.Key("u64", GgufType::kU64, Packed(std::numeric_limits<std::uint64_t>::max()));
  bytes.Key("i64", GgufType::kI64, Packed(std::numeric_limits<std::int64_t>::min()));
  bytes.Key("f32", GgufType::kF32, Packed(0.1f));
  bytes.Key("f32 small", GgufType::kF32, Packed(std::numeric_limits<float>::denorm_min()));
  bytes.Key("f32 inf", GgufType::kF32, Packed(-std::numeric_limits<float>::infinity()));
  bytes.Key("f64", GgufType::kF64, Packed(0.1));
  bytes.Key("f64 most", GgufType::kF64, Packed(std::numeric_limits<double>::max()));
  bytes.Key("bool", GgufType::kBool, Packed(std::uint8_t{1}));
  bytes.Key("text", GgufType::kString, Packed(std::string_view("a \"quoted\" \xC3\xA9")));
  bytes.Key("empty", GgufType::kString, Packed(std::string_view("")));
  bytes.Key("long", GgufType::kString, Packed(std::string(5000, 'x')));
  bytes.Key("not text", GgufType::kString, Packed(std::string_view("\xff\xfe")));
  bytes.Array("numbers", GgufType::kI32, 3, Packed(-1) + Packed(2) + Packed(3));
  bytes.Array("none", GgufType::kF32, 0, "");
  bytes.Array("flags", GgufType::kBool, 2, std::string("\1\0", 2));
  bytes.Array("many", GgufType::kU8, 5000, std::string(5000, '\7'));
  bytes.Array("tokens", GgufType::kString, 2,
              Packed(std::string_view("a")) + Packed(std::string_view("b")));
  header.Tensor("a", DType::kF32, {3});
  header.Tensor("b.weight", DType::kQ4_K, {256, 2, 3});
  return header.WriteTo("types.gguf");
}

TEST(ModelDocument, HeadersComeBack) {
  const Result<GgufFile> file = GgufFile::Open(EveryType());
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Result<ModelDocument> document = ReadModelDocument(DocumentOf(*file));
  ASSERT_TRUE(document.ok()) << document.status().message();
  EXPECT_EQ(document->name, "there.gguf");
  EXPECT_EQ(document->digest, file->HeaderDigest());
  const GgufFile& back = document->file;
  EXPECT_EQ(back.total_bytes(), file->total_bytes());
  ASSERT_EQ(back.metadata().size(), file->metadata().size());
  for (std::size_t i = 0; i < back.metadata().size(); ++i) {
    const auto& [key, value] = back.metadata()[i];
    const auto& [true_key, truth] = file->metadata()[i];
    EXPECT_EQ(key, true_key);
    EXPECT_EQ(value.type, truth.type) << key;
    EXPECT_EQ(value.element_type, truth.element_type) << key;
    EXPECT_EQ(value.count, truth.count) << key;
    EXPECT_EQ(value.bits, truth.bits) << key;
    EXPECT_EQ(value.text.size(), truth.text.size()) << key;
    if (key != "long" && key != "not text") {
      EXPECT_EQ(value.text, truth.text) << key;
    }
    if (key == "many" || !value.data || !value.is_array()) continue;
    for (std::uint64_t e = 0; e < value.count; ++e) {
      EXPECT_EQ(value.ElementF64(e), truth.ElementF64(e)) << key << " " << e;
    }
  }
  ASSERT_EQ(back.tensors().size(), 2u);
  for (std::size_t i = 0; i < back.tensors().size(); ++i) {
    EXPECT_EQ(back.tensors()[i].name, file->tensors()[i].name);
    EXPECT_EQ(back.tensors()[i].type, file->tensors()[i].type);
    EXPECT_EQ(back.tensors()[i].dims, file->tensors()[i].dims);
    EXPECT_EQ(back.tensors()[i].bytes, file->tensors()[i].bytes);
  }
}

TEST(ModelDocument, SplitModelsBecomeOneFile) {
  const std::string folder = TempDir();
  for (int i = 0; i < 2; ++i) {
    ModelHeader shard("llama");
    shard.bytes().Key("split.no", GgufType::kU16, Packed(static_cast<std::uint16_t>(i)));
    shard.bytes().Key("split.count", GgufType::kU16, Packed(std::uint16_t{2}));
    shard.bytes().Key("split.tensors.count", GgufType::kI32, Packed(std::int32_t{2}));
    shard.Tensor("t" + std::to_string(i), DType::kF32, {40});
    WriteFile(folder + "/m-0000" + std::to_string(i + 1) + "-of-00002.gguf", shard.bytes().Bytes());
  }
  const Result<GgufFile> file = GgufFile::Open(folder + "/m-00001-of-00002.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Result<ModelDocument> document = ReadModelDocument(DocumentOf(*file));
  ASSERT_TRUE(document.ok()) << document.status().message();
  EXPECT_EQ(document->file.shards().size(), 1u);
  EXPECT_EQ(document->file.tensors().size(), 2u);
  EXPECT_EQ(document->file.total_bytes(), file->total_bytes());
}

// What is said of the document after `change`; its place.
struct Refused {
  std::string at, message;
};
Refused Refuse(const std::function<void(Json&)>& change) {
  const Result<GgufFile> file = GgufFile::Open(EveryType());
  Json json = Json::parse(DocumentOf(*file));
  change(json);
  const Result<ModelDocument> document = ReadModelDocument(json.dump());
  if (document.ok()) return {"", "taken"};
  EXPECT_EQ(document.status().code(), Code::kInvalid) << document.status().message();
  return {document.status().at(), document.status().message()};
}

TEST(ModelDocument, WhatIsWrongIsRefusedWithItsPlace) {
  const auto at = [](const std::function<void(Json&)>& change) { return Refuse(change).at; };
  EXPECT_EQ(Refuse([](Json&) {}).message, "taken");
  EXPECT_EQ(at([](Json& j) { j["schema"] = "vt.model/2"; }), "/schema");
  EXPECT_EQ(at([](Json& j) { j.erase("metadata"); }), "/metadata");
  EXPECT_EQ(at([](Json& j) { j["tensors"] = 3; }), "/tensors");
  EXPECT_EQ(at([](Json& j) { j["model"].erase("digest"); }), "/model/digest");
  EXPECT_EQ(at([](Json& j) { j["model"]["bytes"] = 7; }), "/model/bytes");
  EXPECT_EQ(at([](Json& j) { j["model"]["bytes"] = -7; }), "/model/bytes");
  EXPECT_EQ(at([](Json& j) { j["model"]["shards"][0]["bytes"] = std::uint64_t{1} << 60; }),
            "/model/shards/0/bytes");
  EXPECT_EQ(at([](Json& j) { j["metadata"][1]["value"] = 256; }), "/metadata/1/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][2]["value"] = -129; }), "/metadata/2/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][5]["value"] = 1.5; }), "/metadata/5/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][9]["value"] = 1e39; }), "/metadata/9/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][9]["value"] = "big"; }), "/metadata/9/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][14]["value"] = 1; }), "/metadata/14/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][1]["type"] = "u9"; }), "/metadata/1/type");
  EXPECT_EQ(at([](Json& j) { j["metadata"][1].erase("value"); }), "/metadata/1/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][17]["bytes"] = std::uint64_t{1} << 40; }),
            "/metadata/17/bytes");
  EXPECT_EQ(at([](Json& j) { j["metadata"][19]["count"] = 4; }), "/metadata/19/value");
  EXPECT_EQ(at([](Json& j) { j["metadata"][19]["value"][1] = "x"; }), "/metadata/19/value/1");
  EXPECT_EQ(at([](Json& j) { j["metadata"][22]["count"] = std::uint64_t{1} << 29; }),
            "/metadata/22/count");
  EXPECT_EQ(at([](Json& j) { j["metadata"][23]["count"] = std::uint64_t{1} << 28; }),
            "/metadata/23");
  EXPECT_EQ(at([](Json& j) { j["tensors"][1]["type"] = "f8_e4m3"; }), "/tensors/1/bytes");
  EXPECT_EQ(at([](Json& j) { j["tensors"][1]["dims"][0] = 255; }), "/tensors/1/dims/0");
  EXPECT_EQ(at([](Json& j) { j["tensors"][1]["dims"][1] = 0; }), "/tensors/1/dims/1");
  EXPECT_EQ(at([](Json& j) { j["tensors"][1]["dims"] = Json::array(); }), "/tensors/1/dims");
  EXPECT_EQ(at([](Json& j) { j["tensors"][1]["dims"][2] = std::uint64_t{1} << 62; }),
            "/tensors/1/dims/2");
  EXPECT_EQ(at([](Json& j) { j["tensors"][0]["bytes"] = 16; }), "/tensors/0/bytes");
  EXPECT_EQ(at([](Json& j) { j["tensors"][0]["shard"] = 1; }), "/tensors/0/shard");
  EXPECT_EQ(at([](Json& j) { j["tensors"][0]["offset"] = 1 << 20; }), "/tensors/0/offset");
  // What the reader of headers finds is said without the name of a file that nobody knows.
  const Refused twice = Refuse([](Json& j) { j["tensors"][1]["name"] = "a"; });
  EXPECT_NE(twice.message.find("tensor \"a\" occurs twice"), std::string::npos) << twice.message;
  EXPECT_EQ(twice.message.find("/proc"), std::string::npos) << twice.message;
  EXPECT_FALSE(ReadModelDocument("[]").ok());
  EXPECT_FALSE(ReadModelDocument("{").ok());
  EXPECT_EQ(Refuse([](Json& j) { j["added"] = "later"; }).message, "taken");
}

TEST(ModelDocument, LaterMessagesNameTheDescribedFile) {
  const Result<GgufFile> file = GgufFile::Open(EveryType());
  const Result<ModelDocument> document = ReadModelDocument(DocumentOf(*file));
  ASSERT_TRUE(document.ok());
  const Status wrong = document->file.GetString("u32").status();
  EXPECT_NE(wrong.message().find("/proc/self/fd/"), std::string::npos);
  const Status named = InTermsOf(*document, wrong);
  EXPECT_EQ(named.message().find("/proc"), std::string::npos) << named.message();
  EXPECT_TRUE(named.message().starts_with("there.gguf: ")) << named.message();
  EXPECT_EQ(named.at(), "there.gguf");
}

}  // namespace
}  // namespace vt::test
