// Two Gemma-4 models that were written from the same numbers as a GGUF file and as a Hugging Face
// folder: the folder must read as the file does.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json_writer.h"
#include "formats/hf_values.h"
#include "formats/model_document.h"
#include "support/test_files.h"
#include "vt/gguf.h"

namespace vt {
namespace {

GgufFile MustOpen(const std::string& path) {
  Result<GgufFile> file = GgufFile::Open(path);
  if (!file.ok()) throw std::runtime_error(file.status().message());
  return std::move(file).value();
}

class HfTwin : public testing::TestWithParam<std::string> {
 protected:
  const GgufFile twin_ = MustOpen(test::TinyPath(GetParam() + ".gguf"));
  const GgufFile folder_ = MustOpen(test::TinyPath(GetParam() + "-hf"));
};

TEST_P(HfTwin, HasEveryTensorWithItsShapeAndValues) {
  for (const GgufTensor& want : twin_.tensors()) {
    SCOPED_TRACE(want.name);
    const GgufTensor* const got = folder_.FindTensor(want.name);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->dims, want.dims);
    EXPECT_EQ(test::Values(folder_, *got), test::Values(twin_, want));
  }
}

TEST_P(HfTwin, HasNoOtherTensorsThanScales) {
  for (const GgufTensor& tensor : folder_.tensors()) {
    if (tensor.name.ends_with(".weight_scale")) {
      const GgufTensor* const weight =
          folder_.FindTensor(tensor.name.substr(0, tensor.name.size() - 6));
      ASSERT_NE(weight, nullptr) << tensor.name;
      EXPECT_EQ(weight->type, DType::kF8_E4M3);
      std::vector<std::uint64_t> dims(weight->dims.begin() + 1, weight->dims.end());
      EXPECT_EQ(tensor.dims, dims);
    } else {
      EXPECT_NE(twin_.FindTensor(tensor.name), nullptr) << tensor.name;
    }
  }
}

TEST_P(HfTwin, HasTheSameMetadata) {
  for (const auto& [key, want] : twin_.metadata()) {
    if (!key.starts_with("gemma4.")) continue;
    SCOPED_TRACE(key);
    const GgufValue* const got = folder_.Find(key);
    ASSERT_NE(got, nullptr);
    ASSERT_EQ(got->is_array(), want.is_array());
    ASSERT_EQ(got->count, want.count);
    for (std::uint64_t i = 0; i < want.count && want.is_array(); ++i) {
      EXPECT_EQ(got->ElementF64(i), want.ElementF64(i));
    }
    if (!want.is_array()) {
      EXPECT_EQ(got->AsF64(), want.AsF64());
    }
  }
  EXPECT_EQ(folder_.GetString("general.architecture").value(), "gemma4");
}

TEST_P(HfTwin, KeepsBytesWhereTheyAre) {
  std::size_t gathered = 0;
  for (const GgufTensor& tensor : folder_.tensors()) {
    std::vector<std::byte> copy(tensor.bytes);
    folder_.CopyTo(tensor, copy.data());
    if (!folder_.Contiguous(tensor)) {
      ++gathered;
      EXPECT_EQ(folder_.Data(tensor), nullptr);
      EXPECT_NE(tensor.name.find("_exps."), std::string_view::npos) << tensor.name;
      std::uint64_t sum = 0;
      for (const GgufTensorPart& part : tensor.parts) sum += part.bytes;
      EXPECT_EQ(sum, tensor.bytes);
      // From the middle of one part into another.
      const std::uint64_t begin = tensor.parts[0].bytes - 1;
      std::vector<std::byte> range(tensor.parts[1].bytes + 2);
      folder_.CopyRange(tensor, begin, range.size(), range.data());
      EXPECT_TRUE(std::equal(range.begin(), range.end(),
                             copy.begin() + static_cast<std::ptrdiff_t>(begin)));
      continue;
    }
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), folder_.Data(tensor)));
    const auto place = reinterpret_cast<std::uintptr_t>(folder_.Data(tensor));
    EXPECT_EQ(place % InfoOf(tensor.type).block_bytes, 0u) << tensor.name;
  }
  EXPECT_EQ(gathered > 0, GetParam() == "gemma4-26b");
}

TEST_P(HfTwin, KeepsEightBitWeights) {
  const bool eight_bit = GetParam() == "gemma4-26b";
  EXPECT_EQ(folder_.FindTensor("blk.0.attn_q.weight")->type,
            eight_bit ? DType::kF8_E4M3 : DType::kBF16);
  EXPECT_EQ(folder_.FindTensor("token_embd.weight")->type, DType::kBF16);
  EXPECT_EQ(folder_.FindTensor("rope_freqs.weight")->type, DType::kF32);
  EXPECT_EQ(folder_.FindTensor("blk.0.attn_q.weight_scale") != nullptr, eight_bit);
}

TEST_P(HfTwin, EveryPathIntoTheFolderOpensIt) {
  const std::string path = test::TinyPath(GetParam() + "-hf");
  for (const char* const name : {"/", "/config.json", "/model.safetensors"}) {
    const GgufFile file = MustOpen(path + name);
    EXPECT_EQ(file.HeaderDigest(), folder_.HeaderDigest()) << name;
    EXPECT_EQ(file.tensors().size(), folder_.tensors().size()) << name;
  }
  EXPECT_EQ(std::filesystem::path(folder_.shards()[0].path).filename(), "config.json");
}

// As vt-run --describe writes it.
TEST_P(HfTwin, IsDescribedAndReadBack) {
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.model/1").Key("model").BeginObject();
  json.Field("file", folder_.shards()[0].path).Field("digest", folder_.HeaderDigest());
  json.Field("bytes", folder_.total_bytes()).Key("shards").BeginArray();
  for (const GgufShard& shard : folder_.shards()) {
    json.BeginObject().Field("bytes", shard.file_bytes).EndObject();
  }
  json.EndArray().EndObject();
  WriteMetadata(json, folder_);
  json.Key("tensors").BeginArray();
  for (const GgufTensor& tensor : folder_.tensors()) {
    json.BeginObject().Field("name", tensor.name).Field("type", NameOf(tensor.type));
    json.Key("dims").BeginArray();
    for (const std::uint64_t dim : tensor.dims) json.Value(dim);
    json.EndArray().Field("shard", tensor.shard).Field("offset", tensor.offset);
    json.Field("bytes", tensor.bytes).Field("gathered", !folder_.Contiguous(tensor)).EndObject();
  }
  json.EndArray().EndObject();
  const Result<ModelDocument> document = ReadModelDocument(json.Take());
  ASSERT_TRUE(document.ok()) << document.status().message();
  EXPECT_EQ(document->digest, folder_.HeaderDigest());
  ASSERT_EQ(document->file.tensors().size(), folder_.tensors().size());
  for (std::size_t i = 0; i < folder_.tensors().size(); ++i) {
    const GgufTensor& want = folder_.tensors()[i];
    const GgufTensor& got = document->file.tensors()[i];
    EXPECT_EQ(got.name, want.name);
    EXPECT_EQ(got.type, want.type);
    EXPECT_EQ(got.dims, want.dims);
    EXPECT_EQ(document->file.Contiguous(got), folder_.Contiguous(want)) << want.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Gemma4, HfTwin, testing::Values("gemma4-e4b", "gemma4-26b"),
                         [](const auto& param) {
                           return param.param == "gemma4-e4b" ? "Dense" : "Experts";
                         });

}  // namespace
}  // namespace vt
