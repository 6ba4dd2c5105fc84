// The scales of FP8 tensors in a header: which tensors they may be and what shape they have.
#include <gtest/gtest.h>

#include "caps/model_header.h"
#include "formats/gguf_contents.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

struct ScaleTensor {
  std::string ending;  // after the weight's name
  DType type;
  std::vector<std::uint64_t> dims;
};

// A llama with experts of 130 rows, of which blk.0.ffn_gate_exps is f8_e4m3 with such scales.
GgufFile Model(const std::vector<ScaleTensor>& scales) {
  test::ModelHeader header("llama");
  header.Text("tokenizer.ggml.model", "none");
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, std::uint32_t>>{{"block_count", 1},
                                                          {"context_length", 64},
                                                          {"embedding_length", 260},
                                                          {"feed_forward_length", 130},
                                                          {"expert_count", 2},
                                                          {"expert_used_count", 1},
                                                          {"attention.head_count", 2}}) {
    header.U32(std::string("llama.") + key, value);
  }
  header.F32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  header.Tensor("token_embd.weight", DType::kF32, {260, 8});
  header.Tensor("output_norm.weight", DType::kF32, {260});
  for (const char* const name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    header.Tensor(std::string("blk.0.") + name + ".weight", DType::kF32, {260, 260});
  }
  header.Tensor("blk.0.attn_norm.weight", DType::kF32, {260});
  header.Tensor("blk.0.ffn_norm.weight", DType::kF32, {260});
  header.Tensor("blk.0.ffn_gate_inp.weight", DType::kF32, {260, 2});
  header.Tensor("blk.0.ffn_gate_exps.weight", DType::kF8_E4M3, {260, 130, 2});
  header.Tensor("blk.0.ffn_up_exps.weight", DType::kF32, {260, 130, 2});
  header.Tensor("blk.0.ffn_down_exps.weight", DType::kF32, {130, 260, 2});
  for (const ScaleTensor& scale : scales) {
    header.Tensor("blk.0.ffn_gate_exps.weight" + scale.ending, scale.type, scale.dims);
  }
  const std::string path = header.WriteTo("llama.gguf");
  GgufContents contents;
  MappedFile file = MappedFile::Open(path).value();
  contents.first = ParseGgufHeader(path, file, GgufTypeIds::kOurs).value();
  contents.tensors = std::move(contents.first.tensors);
  contents.shards.push_back({.path = path,
                             .file_bytes = file.size(),
                             .header_bytes = contents.first.bytes,
                             .base = file.data()});
  contents.files.push_back(std::move(file));
  return GgufFile::FromContents(std::move(contents));
}

std::string Refusal(const std::vector<ScaleTensor>& scales, Code code = Code::kCorrupt) {
  const Result<ModelSpec> spec = ReadModelSpec(Model(scales));
  if (spec.ok()) return "no error";
  EXPECT_EQ(spec.status().code(), code);
  return spec.status().message();
}

TEST(Fp8Scales, ByRow) {
  const GgufFile file = Model({{"_scale", DType::kBF16, {130, 2}}});
  const Result<ModelSpec> spec = ReadModelSpec(file);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const WeightRef& gate = spec->layers[0].moe.gate.weight;
  EXPECT_EQ(file.tensors()[static_cast<std::size_t>(gate.scales)].name,
            "blk.0.ffn_gate_exps.weight_scale");
  EXPECT_EQ(gate.scale_rows, 1);
  EXPECT_EQ(gate.scale_cols, 0);
  EXPECT_TRUE(spec->unused_tensors.empty());
}

TEST(Fp8Scales, ByBlockAnewForEachExpert) {
  const GgufFile file = Model({{"_scale_inv", DType::kF32, {3, 2, 2}}});
  const Result<ModelSpec> spec = ReadModelSpec(file);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const WeightRef& gate = spec->layers[0].moe.gate.weight;
  EXPECT_EQ(file.tensors()[static_cast<std::size_t>(gate.scales)].name,
            "blk.0.ffn_gate_exps.weight_scale_inv");
  EXPECT_EQ(gate.scale_rows, 128);
  EXPECT_EQ(gate.scale_cols, 128);
  EXPECT_EQ(gate.matrix_rows, 130);
  EXPECT_TRUE(spec->unused_tensors.empty());
}

TEST(Fp8Scales, ThatAreWrong) {
  EXPECT_EQ(Refusal({}),
            "tensor \"blk.0.ffn_gate_exps.weight\": f8_e4m3 without its scales "
            "(\"blk.0.ffn_gate_exps.weight_scale\", one for each row, or "
            "\"blk.0.ffn_gate_exps.weight_scale_inv\", one for each 128 x 128 block)");
  EXPECT_EQ(Refusal({{"_scale", DType::kF32, {130}}}),
            "tensor \"blk.0.ffn_gate_exps.weight_scale\": shape [130], but a scale for each row of "
            "\"blk.0.ffn_gate_exps.weight\" [260, 130, 2] makes [130, 2]");
  EXPECT_EQ(Refusal({{"_scale_inv", DType::kF32, {2, 3, 2}}}),
            "tensor \"blk.0.ffn_gate_exps.weight_scale_inv\": shape [2, 3, 2], but a scale for "
            "each 128 x 128 block of \"blk.0.ffn_gate_exps.weight\" [260, 130, 2] makes [3, 2, 2]");
  // All rows of all experts in one run of blocks are too few.
  EXPECT_EQ(Refusal({{"_scale_inv", DType::kF32, {3, 3}}}),
            "tensor \"blk.0.ffn_gate_exps.weight_scale_inv\": shape [3, 3], but a scale for each "
            "128 x 128 block of \"blk.0.ffn_gate_exps.weight\" [260, 130, 2] makes [3, 2, 2]");
  EXPECT_EQ(Refusal({{"_scale", DType::kF32, {130, 2}}, {"_scale_inv", DType::kF32, {3, 2, 2}}}),
            "tensor \"blk.0.ffn_gate_exps.weight_scale\": "
            "\"blk.0.ffn_gate_exps.weight_scale_inv\" is there too; one of them must go");
  EXPECT_EQ(Refusal({{"_scale", DType::kI32, {130, 2}}}, Code::kUnsupported),
            "tensor \"blk.0.ffn_gate_exps.weight_scale\": type i32 holds no scales (f32, f16 or "
            "bf16)");
}

}  // namespace
}  // namespace vt
