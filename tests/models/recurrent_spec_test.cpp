// Models with recurrent layers: which layers those are, their sizes, and headers that do not fit.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/test_files.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

Result<ModelSpec> Read(const std::string& path) {
  VT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  return ReadModelSpec(file);
}

ModelSpec ReadTiny(const std::string& name) {
  Result<ModelSpec> spec = Read(test::TinyPath(name + ".gguf"));
  EXPECT_TRUE(spec.ok()) << name << ": " << spec.status().message();
  return spec.ok() ? *spec : ModelSpec();
}

std::vector<MixerKind> Mixers(const ModelSpec& spec) {
  std::vector<MixerKind> mixers;
  for (const LayerSpec& layer : spec.layers) mixers.push_back(layer.mixer);
  return mixers;
}

// A copy of a tiny model with `from` replaced by `to`, of the same length, at its first place.
std::string Altered(const std::string& name, const std::string& from, const std::string& to) {
  std::string bytes = test::ReadFile(test::TinyPath(name + ".gguf"));
  const std::size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(from.size(), to.size());
  if (at != std::string::npos) bytes.replace(at, from.size(), to);
  const std::string path = test::TempDir() + "/altered.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string U32(std::uint32_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// What the reader says of a model whose key, a u32, has another value.
std::string Refusal(const std::string& name, const std::string& key, std::uint32_t was,
                    std::uint32_t now) {
  constexpr std::uint32_t kTypeU32 = 4;
  const std::string head = key + U32(kTypeU32);
  return std::string(Read(Altered(name, head + U32(was), head + U32(now))).status().message());
}

TEST(RecurrentSpec, WhichLayersRecur) {
  constexpr MixerKind kScan = MixerKind::kMamba2, kRule = MixerKind::kDeltaNet,
                      kConv = MixerKind::kShortConv, kHeads = MixerKind::kAttention,
                      kNone = MixerKind::kNone;
  using Kinds = std::vector<MixerKind>;
  EXPECT_EQ(Mixers(ReadTiny("mamba2-dense")), (Kinds{kScan, kScan}));
  EXPECT_EQ(Mixers(ReadTiny("granitehybrid-dense")), (Kinds{kHeads, kScan}));
  EXPECT_EQ(Mixers(ReadTiny("nemotron_h-dense")), (Kinds{kHeads, kScan, kNone}));
  EXPECT_EQ(Mixers(ReadTiny("lfm2-dense")), (Kinds{kHeads, kConv}));
  EXPECT_EQ(Mixers(ReadTiny("lfm2moe-moe")), (Kinds{kHeads, kConv}));
  EXPECT_EQ(Mixers(ReadTiny("qwen3next-moe")), (Kinds{kRule, kHeads}));
  EXPECT_EQ(Mixers(ReadTiny("qwen35-dense")), (Kinds{kRule, kHeads}));
  EXPECT_EQ(Mixers(ReadTiny("qwen35moe-moe")), (Kinds{kRule, kHeads}));
}

TEST(RecurrentSpec, Sizes) {
  const RecurrentSpec scan = ReadTiny("mamba2-dense").layers[1].recurrent;
  EXPECT_EQ(scan.taps, 4);
  EXPECT_EQ(scan.channels, 128 + 2 * 2 * 128);
  EXPECT_EQ(scan.heads, 4);
  EXPECT_EQ(scan.head_dim, 32);
  EXPECT_EQ(scan.groups, 2);
  EXPECT_EQ(scan.state_floats(), 4 * 32 * 128);
  EXPECT_EQ(scan.conv_floats(), 3 * 640);
  const ModelSpec next = ReadTiny("qwen3next-moe");
  EXPECT_EQ(next.layers[0].recurrent.channels, 3 * 256);
  EXPECT_EQ(next.layers[0].recurrent.state_floats(), 2 * 128 * 128);
  EXPECT_FALSE(next.layers[0].recurrent.interleaved_keys);
  EXPECT_TRUE(next.layers[0].recurrent.alpha_beta);
  EXPECT_FALSE(next.layers[0].gated_q);
  EXPECT_TRUE(next.layers[1].gated_q);
  EXPECT_TRUE(ReadTiny("qwen35-dense").layers[0].recurrent.interleaved_keys);
  const RecurrentSpec conv = ReadTiny("lfm2-dense").layers[1].recurrent;
  EXPECT_EQ(conv.taps, 3);
  EXPECT_EQ(conv.channels, 64);
  EXPECT_EQ(conv.state_floats(), 0);
  EXPECT_EQ(conv.conv_floats(), 2 * 64);
}

TEST(RecurrentSpec, SizesThatDoNotFit) {
  EXPECT_EQ(Refusal("mamba2-dense", "mamba2.ssm.time_step_rank", 4, 3),
            "key \"mamba2.ssm.time_step_rank\": 3 does not divide the 128 of "
            "mamba2.ssm.inner_size");
  EXPECT_EQ(Refusal("mamba2-dense", "mamba2.ssm.group_count", 2, 3),
            "key \"mamba2.ssm.group_count\": 3 does not divide the 4 of "
            "mamba2.ssm.time_step_rank");
  EXPECT_EQ(Refusal("mamba2-dense", "mamba2.ssm.conv_kernel", 4, 17),
            "key \"mamba2.ssm.conv_kernel\": value 17 is out of range (allowed 2 to 16)");
  EXPECT_EQ(Refusal("mamba2-dense", "mamba2.ssm.conv_kernel", 4, 3),
            "tensor \"blk.0.ssm_conv1d.weight\": shape [4, 640], but the model's keys want "
            "[3, 640]");
  EXPECT_EQ(Refusal("qwen35-dense", "qwen35.ssm.state_size", 128, 64),
            "tensor \"blk.0.attn_qkv.weight\": shape [128, 768], but the model's keys want "
            "[128, 512]");
  EXPECT_EQ(Refusal("lfm2-dense", "lfm2.shortconv.l_cache", 3, 1),
            "key \"lfm2.shortconv.l_cache\": value 1 is out of range (allowed 2 to 16)");
}

TEST(RecurrentSpec, WhatIsMissing) {
  const auto message = [](const std::string& name, const std::string& from, const std::string& to) {
    return std::string(Read(Altered(name, from, to)).status().message());
  };
  EXPECT_EQ(message("nemotron_h-dense", "ssm.state_size", "ssm.state_sizf"),
            "key \"nemotron_h.ssm.state_size\": missing (allowed 1 to 16777216)");
  EXPECT_EQ(message("nemotron_h-dense", "feed_forward_length", "feed_forward_lengti"),
            "key \"nemotron_h.feed_forward_length\": missing (it says what each layer is)");
  EXPECT_EQ(message("granitehybrid-dense", "blk.1.ssm_out.weight", "blk.1.ssm_ouu.weight"),
            "tensor \"blk.1.ssm_out.weight\": missing (wanted [128, 64])");
  EXPECT_EQ(message("qwen3next-moe", "blk.0.attn_qkv.weight", "blk.0.attn_qkw.weight"),
            "tensor \"blk.0.ssm_in.weight\": q, k, v and z lie in one tensor, head by head, as in "
            "the first files of this family; use a file with attn_qkv and attn_gate");
  EXPECT_EQ(message("qwen35-dense", "blk.0.ssm_beta.weight", "blk.0.ssm_betb.weight"),
            "tensor \"blk.0.ssm_beta.weight\": missing (wanted [128, 2])");
}

}  // namespace
}  // namespace vt
