// Real and tiny models read as gguf-py reads them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/test_files.h"
#include "vt/gguf.h"

namespace vt {
namespace {

using nlohmann::json;

const json& Facts() {
  static const json facts = json::parse(test::ReadFile(test::DataPath("gguf_facts.json")));
  return facts;
}

void CheckScalar(const GgufValue& value, const json& want) {
  if (want.is_boolean()) {
    EXPECT_EQ(value.AsBool(), want.get<bool>());
  } else if (want.is_string()) {
    EXPECT_EQ(value.text, want.get<std::string>());
  } else if (want.is_number_integer()) {
    EXPECT_EQ(value.AsI64(), want.get<std::int64_t>());
  } else {
    EXPECT_EQ(value.AsF64(), want.get<double>());
  }
}

void CheckArray(const GgufValue& value, const json& fact) {
  ASSERT_EQ(value.count, fact["count"].get<std::uint64_t>());
  if (value.count == 0) return;
  EXPECT_EQ(NameOf(value.element_type), fact["element_type"].get<std::string>());
  for (const json& sample : fact["samples"]) {
    const auto i = sample[0].get<std::uint64_t>();
    if (sample[1].is_string()) {
      EXPECT_EQ(value.strings->at(i), sample[1].get<std::string>());
    } else if (sample[1].is_number_float()) {
      EXPECT_EQ(value.ElementF64(i), sample[1].get<double>());
    } else {
      EXPECT_EQ(value.ElementI64(i),
                sample[1].is_boolean() ? sample[1].get<bool>() : sample[1].get<std::int64_t>());
    }
  }
  if (!fact.contains("text_bytes")) return;
  std::uint64_t bytes = 0;
  for (const std::string_view text : *value.strings) bytes += text.size();
  EXPECT_EQ(bytes, fact["text_bytes"].get<std::uint64_t>());
}

void CheckKey(const std::pair<std::string_view, GgufValue>& key, const json& fact) {
  SCOPED_TRACE(std::string(key.first));
  const GgufValue& value = key.second;
  ASSERT_EQ(key.first, fact["key"].get<std::string>());
  ASSERT_EQ(NameOf(value.type), fact["type"].get<std::string>());
  if (value.is_array()) {
    CheckArray(value, fact);
  } else if (fact.contains("starts")) {
    EXPECT_EQ(value.text.size(), fact["text_bytes"].get<std::uint64_t>());
    EXPECT_TRUE(value.text.starts_with(fact["starts"].get<std::string>()));
  } else {
    CheckScalar(value, fact["value"]);
  }
}

void CheckTensor(const GgufFile& file, const json& fact) {
  SCOPED_TRACE(fact["name"].get<std::string>());
  const GgufTensor& tensor = file.tensors().at(fact["index"].get<std::size_t>());
  EXPECT_EQ(tensor.name, fact["name"].get<std::string>());
  EXPECT_EQ(file.FindTensor(fact["name"].get<std::string>()), &tensor);
  EXPECT_EQ(NameOf(tensor.type), fact["type"].get<std::string>());
  EXPECT_EQ(tensor.dims, fact["dims"].get<std::vector<std::uint64_t>>());
  EXPECT_EQ(tensor.offset, fact["offset"].get<std::uint64_t>());
  EXPECT_EQ(tensor.bytes, fact["bytes"].get<std::uint64_t>());
  std::string hex;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(tensor.bytes, 8); ++i) {
    char text[3];
    std::snprintf(text, sizeof(text), "%02x", std::to_integer<unsigned>(file.Data(tensor)[i]));
    hex += text;
  }
  EXPECT_EQ(hex, fact["first_bytes"].get<std::string>());
}

void CheckFile(const std::string& path, const json& fact) {
  SCOPED_TRACE(path);
  const Result<GgufFile> opened = GgufFile::Open(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const GgufFile& file = opened.value();
  ASSERT_EQ(file.shards().size(), 1u);
  EXPECT_EQ(file.shards()[0].version, fact["version"].get<std::uint32_t>());
  EXPECT_EQ(file.shards()[0].header_bytes, fact["header_bytes"].get<std::uint64_t>());
  EXPECT_EQ(file.total_bytes(), fact["file_bytes"].get<std::uint64_t>());
  ASSERT_EQ(file.metadata().size(), fact["keys"].size());
  for (std::size_t i = 0; i < file.metadata().size(); ++i) {
    CheckKey(file.metadata()[i], fact["keys"][i]);
    EXPECT_EQ(file.Find(file.metadata()[i].first), &file.metadata()[i].second);
  }
  ASSERT_EQ(file.tensors().size(), fact["tensor_count"].get<std::size_t>());
  for (const json& tensor : fact["tensors"]) CheckTensor(file, tensor);
  if (fact.contains("content_digest")) {
    EXPECT_EQ(file.ContentDigest(), fact["content_digest"].get<std::string>());
  }
}

TEST(GgufFacts, TinyModels) {
  for (const json& fact : Facts()["tiny"]) {
    CheckFile(test::TinyPath(fact["file"].get<std::string>()), fact);
  }
}

class GgufModelFacts : public ::testing::TestWithParam<int> {};

TEST_P(GgufModelFacts, ReadAsTheOracleReads) {
  const json& fact = Facts()["models"].at(static_cast<std::size_t>(GetParam()));
  const auto name = fact["file"].get<std::string>();
  const std::optional<std::string> path = test::ModelPath(name);
  if (!path) VT_NOT_RUN(name);
  CheckFile(*path, fact);
}

INSTANTIATE_TEST_SUITE_P(Models, GgufModelFacts, ::testing::Range(0, 3));

}  // namespace
}  // namespace vt
