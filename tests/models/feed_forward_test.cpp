// What specs say of the dense feed-forward.
#include <gtest/gtest.h>

#include "support/test_files.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

TEST(FeedForward, KindAndActivationAreThoseOfTheFamily) {
  struct {
    const char* model;
    FfnKind kind;
    const char* activation;
  } const cases[] = {
      {"llama-dense", FfnKind::kGated, "silu"},
      {"gemma-dense", FfnKind::kGated, "gelu"},
      {"starcoder2-dense", FfnKind::kPlain, "gelu"},
      {"smallthinker-moe", FfnKind::kGated, "relu"},
      {"gpt-oss-moe", FfnKind::kGated, "clamped_silu"},
      {"nemotron_h-dense", FfnKind::kPlain, "relu_squared"},
      {"arcee-dense", FfnKind::kPlain, "relu_squared"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.model);
    const auto file = GgufFile::Open(test::TinyPath(std::string(one.model) + ".gguf"));
    ASSERT_TRUE(file.ok()) << file.status().message();
    const Result<ModelSpec> spec = ReadModelSpec(*file);
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec->ffn, one.kind);
    EXPECT_EQ(NameOf(spec->activation), one.activation);
    EXPECT_TRUE(spec->unused_tensors.empty());
  }
}

}  // namespace
}  // namespace vt
