// Headers of models made for tests: real names and shapes, no weights.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "formats/gguf_bytes.h"
#include "support/test_files.h"
#include "vt/dtype.h"

namespace vt::test {

class ModelHeader {
 public:
  explicit ModelHeader(const std::string& architecture) {
    Text("general.architecture", architecture);
  }

  void Text(const std::string& key, const std::string& value) {
    bytes_.Key(key, GgufType::kString, Packed(std::string_view(value)));
  }
  void U32(const std::string& key, std::uint32_t value) {
    bytes_.Key(key, GgufType::kU32, Packed(value));
  }
  void F32(const std::string& key, float value) { bytes_.Key(key, GgufType::kF32, Packed(value)); }
  GgufBytes& bytes() { return bytes_; }

  // dims fastest first.
  void Tensor(const std::string& name, DType type, const std::vector<std::uint64_t>& dims) {
    std::uint64_t values = 1;
    for (const std::uint64_t dim : dims) values *= dim;
    bytes_.Tensor(name, dims, static_cast<std::uint32_t>(type),
                  std::string(RowBytes(type, values), '\0'));
  }

  std::string WriteTo(const std::string& name) const {
    return WriteFile(TempDir() + "/" + name, bytes_.Bytes());
  }

 private:
  GgufBytes bytes_;
};

// A mixture of experts as GLM 4.5 has it, in small: the experts in IQ1_S, all else in types that
// AMD boards of today keep.
inline std::string GlmWithIq1Experts() {
  ModelHeader glm("glm9moe");
  glm.Text("general.name", "GLM in small");
  glm.Text("tokenizer.ggml.model", "none");
  glm.U32("glm9moe.block_count", 2);
  glm.U32("glm9moe.embedding_length", 256);
  glm.U32("glm9moe.expert_count", 8);
  glm.U32("glm9moe.expert_used_count", 2);
  glm.Tensor("token_embd.weight", DType::kQ4_K, {256, 1024});
  for (const std::string block : {"blk.0.", "blk.1."}) {
    glm.Tensor(block + "attn_norm.weight", DType::kF32, {256});
    glm.Tensor(block + "attn_q.weight", DType::kQ5_K, {256, 512});
    glm.Tensor(block + "attn_q.bias", DType::kF32, {512});
    glm.Tensor(block + "attn_k.weight", DType::kQ5_K, {256, 128});
    glm.Tensor(block + "attn_v.weight", DType::kQ6_K, {256, 128});
    glm.Tensor(block + "attn_output.weight", DType::kQ8_0, {512, 256});
    glm.Tensor(block + "post_attention_norm.weight", DType::kF32, {256});
    glm.Tensor(block + "ffn_gate_inp.weight", DType::kF32, {256, 8});
    glm.Tensor(block + "exp_probs_b.bias", DType::kF32, {8});
    glm.Tensor(block + "ffn_gate_exps.weight", DType::kIQ1_S, {256, 512, 8});
    glm.Tensor(block + "ffn_up_exps.weight", DType::kIQ1_S, {256, 512, 8});
    glm.Tensor(block + "ffn_down_exps.weight", DType::kIQ1_S, {512, 256, 8});
    glm.Tensor(block + "ffn_gate_shexp.weight", DType::kQ4_K, {256, 512});
    glm.Tensor(block + "ffn_mystery", DType::kF32, {7});
  }
  glm.Tensor("output_norm.weight", DType::kF32, {256});
  glm.Tensor("output.weight", DType::kQ6_K, {256, 1024});
  return glm.WriteTo("glm.gguf");
}

}  // namespace vt::test
