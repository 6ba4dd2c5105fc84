// Models written anew in another type: which tensors change, what stays, what is refused.
#include "bench/requantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/whole_file.h"
#include "bench/synth_shape.h"
#include "cpu/quants/dequantize.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt {
namespace {

std::vector<float> Values(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<float> values(tensor.cols() * tensor.rows());
  DequantizeRow(tensor.type, file.Data(tensor), values.data(),
                static_cast<std::int64_t>(values.size()));
  return values;
}

double Nmse(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0, all = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::pow(double{got[i]} - double{want[i]}, 2);
    all += double{want[i]} * double{want[i]};
  }
  return error / all;
}

void ExpectSameBytes(const GgufFile& a, const GgufTensor& in_a, const GgufFile& b,
                     const GgufTensor& in_b) {
  ASSERT_EQ(in_a.bytes, in_b.bytes);
  EXPECT_EQ(std::memcmp(a.Data(in_a), b.Data(in_b), in_a.bytes), 0) << in_a.name;
}

TEST(Requantize, EveryTinyModelWhereShapesAllow) {
  const std::string out = test::TempDir() + "/q.gguf";
  for (const std::string& model : test::TinyModelPaths()) {
    SCOPED_TRACE(model);
    const auto before = GgufFile::Open(model);
    ASSERT_TRUE(before.ok()) << before.status().message();
    for (const auto& [type, limit] : {std::pair(DType::kQ8_0, 1e-4), {DType::kQ4_0, 0.02}}) {
      const auto answer = RequantizeGguf(*before, type, out);
      ASSERT_TRUE(answer.ok()) << answer.status().message();
      EXPECT_EQ(std::filesystem::file_size(out), answer->bytes);
      EXPECT_EQ(answer->converted + answer->kept, before->tensors().size());
      EXPECT_GE(answer->converted, 6u);
      const auto after = GgufFile::Open(out);
      ASSERT_TRUE(after.ok()) << after.status().message();
      ASSERT_EQ(after->tensors().size(), before->tensors().size());
      EXPECT_EQ(after->metadata().size(), before->metadata().size());
      for (const auto& [key, value] : before->metadata()) {
        const GgufValue* found = after->Find(key);
        ASSERT_NE(found, nullptr) << key;
        EXPECT_EQ(EncodedValue(*found), EncodedValue(value)) << key;
      }
      std::size_t converted = 0;
      for (std::size_t i = 0; i < before->tensors().size(); ++i) {
        const GgufTensor &from = before->tensors()[i], &to = after->tensors()[i];
        ASSERT_EQ(to.name, from.name);
        EXPECT_EQ(to.dims, from.dims) << to.name;
        if (to.type == from.type) {
          ExpectSameBytes(*before, from, *after, to);
          const bool rows_fit = from.dims.size() > 1 && from.cols() % 32 == 0;
          EXPECT_FALSE(rows_fit && IsQuantisable(from.name, from.dims.size())) << from.name;
          continue;
        }
        ++converted;
        EXPECT_EQ(to.type, type) << to.name;
        EXPECT_EQ(to.bytes, RowBytes(type, to.cols()) * to.rows()) << to.name;
        EXPECT_LT(Nmse(Values(*after, to), Values(*before, from)), limit) << to.name;
      }
      EXPECT_EQ(converted, answer->converted);
    }
  }
}

TEST(Requantize, NormsRoutersAndVectorsStay) {
  for (const char* name :
       {"blk.0.attn_norm.weight", "blk.0.ssm_norm.weight", "blk.0.ffn_gate_inp.weight",
        "blk.0.ssm_conv1d.weight", "blk.0.shortconv.conv.weight", "position_embd.weight",
        "blk.0.ffn_down_exps.bias", "blk.0.ffn_down_exps.scale", "blk.0.ssm_a",
        "blk.0.exp_probs_b.bias"}) {
    EXPECT_FALSE(IsQuantisable(name, 2)) << name;
  }
  for (const char* name : {"token_embd.weight", "output.weight", "blk.0.attn_q.weight",
                           "blk.7.ffn_gate_up_exps.weight", "blk.0.attn_k_b.weight"}) {
    EXPECT_TRUE(IsQuantisable(name, 2)) << name;
    EXPECT_FALSE(IsQuantisable(name, 1)) << name;
  }
}

TEST(Requantize, TheSameTypeAgainIsTheSameFile) {
  const std::string once = test::TempDir() + "/once.gguf", twice = test::TempDir() + "/twice.gguf";
  const auto source = GgufFile::Open(test::TinyPath("llama-dense.gguf"));
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE(RequantizeGguf(*source, DType::kQ5_1, once).ok());
  const auto first = GgufFile::Open(once);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(RequantizeGguf(*first, DType::kQ5_1, twice).ok());
  EXPECT_EQ(test::ReadFile(once), test::ReadFile(twice));
}

TEST(Requantize, RefusesAndLeavesNothing) {
  const std::string folder = test::TempDir(), bad = folder + "/bad.gguf", out = folder + "/q.gguf";
  std::string bytes = test::ReadFile(test::TinyPath("llama-dense.gguf"));
  {
    const auto good = GgufFile::Open(test::TinyPath("llama-dense.gguf"));
    ASSERT_TRUE(good.ok());
    for (const DType type : {DType::kI32, DType::kF64, DType::kF8_E4M3}) {
      const auto answer = RequantizeGguf(*good, type, out);
      EXPECT_EQ(answer.status().code(), Code::kInvalid);
      EXPECT_EQ(answer.status().message(),
                "type " + std::string(NameOf(type)) +
                    ": not a weight type of GGUF files (q8_0, q4_k, f16)");
    }
    const GgufTensor* tensor = good->FindTensor("blk.1.ffn_up.weight");
    ASSERT_NE(tensor, nullptr);
    const float nan = std::nanf("");
    std::memcpy(bytes.data() + tensor->offset + (3 * tensor->cols() + 5) * sizeof nan, &nan,
                sizeof nan);
    ASSERT_TRUE(WriteWhole(bad, bytes).ok());
  }
  const auto file = GgufFile::Open(bad);
  ASSERT_TRUE(file.ok());
  const auto answer = RequantizeGguf(*file, DType::kQ8_0, out);
  EXPECT_EQ(answer.status().code(), Code::kInvalid);
  EXPECT_EQ(answer.status().message(),
            "tensor blk.1.ffn_up.weight, row 3: q8_0: value 5 is nan; weights must be finite");
  EXPECT_FALSE(std::filesystem::exists(out));
  const auto itself = RequantizeGguf(*file, DType::kQ8_0, bad);
  EXPECT_EQ(itself.status().code(), Code::kInvalid);
  EXPECT_EQ(test::ReadFile(bad), bytes);
}

}  // namespace
}  // namespace vt
