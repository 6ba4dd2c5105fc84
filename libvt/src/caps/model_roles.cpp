// What the names of a model's tensors say about the ops that read them.
//
// Source of the names: the GGUF specification's standardized tensor names and those that converters
// write for the architectures of today.
#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "caps/model_walk.h"
#include "ops/matmul_policy.h"

namespace vt {
namespace {

enum class Role {
  kEmbed,        // rows are looked up
  kNorm,         // weight of a norm; a layer norm where it has a bias
  kMatmul,       // [n, k]
  kExperts,      // [experts, n, k]
  kExpertScale,  // a factor per expert
  kFactors,      // a factor per value
  kScale,        // one factor for all values
  kRope,         // factors of rotary frequencies
  kBias,         // added by the op that reads the weight of the same name
  kUnwritten,    // read by an op that the table does not have
};

struct Rule {
  std::string_view name;  // of the tensor without "blk.N."; one "*" stands for any text
  std::size_t dims;       // 0: any
  Role role;
  std::string_view op = {};  // of kUnwritten
};

// The first rule that fits wins.
constexpr Rule kRules[] = {
    {"token_embd.weight", 2, Role::kEmbed},
    {"per_layer_token_embd.weight", 2, Role::kEmbed},
    {"position_embd.weight", 2, Role::kEmbed},
    {"token_types.weight", 2, Role::kEmbed},
    {"rope_freqs.weight", 1, Role::kRope},
    {"rope_factors_*.weight", 1, Role::kRope},
    {"attn_sinks*", 1, Role::kUnwritten, "attention_sinks"},
    {"exp_probs_b*", 1, Role::kUnwritten, "expert_select"},
    {"attn_k_b.weight", 3, Role::kUnwritten, "head_matmul"},
    {"attn_v_b.weight", 3, Role::kUnwritten, "head_matmul"},
    {"shortconv.conv.*", 0, Role::kUnwritten, "short_conv"},
    {"ssm_conv1d*", 0, Role::kUnwritten, "ssm_conv"},
    {"ssm_a*", 1, Role::kUnwritten, "ssm_scan"},
    {"ssm_a", 2, Role::kUnwritten, "ssm_scan"},
    {"ssm_a.weight", 2, Role::kUnwritten, "ssm_scan"},
    {"ssm_d", 0, Role::kUnwritten, "ssm_scan"},
    {"ssm_dt.bias", 1, Role::kUnwritten, "ssm_scan"},
    {"*norm*.weight", 1, Role::kNorm},
    {"*norm*.weight", 2, Role::kNorm},
    {"*norm*.bias", 0, Role::kBias},
    {"time_mix_*.weight", 2, Role::kMatmul},
    {"time_mix_*", 0, Role::kUnwritten, "rwkv_time_mix"},
    {"channel_mix_*.weight", 2, Role::kMatmul},
    {"channel_mix_*", 0, Role::kUnwritten, "rwkv_channel_mix"},
    {"*_exps.weight", 3, Role::kExperts},
    {"*_exps.bias", 2, Role::kUnwritten, "expert_bias"},
    {"*_exps.scale", 1, Role::kExpertScale},
    {"*_gate_inp.scale", 1, Role::kFactors},
    {"layer_output_scale.weight", 1, Role::kScale},
    {"*_gate_inp_shexp.weight", 1, Role::kMatmul},
    {"cls*.weight", 1, Role::kMatmul},
    {"*.bias", 1, Role::kBias},
    {"*.weight", 2, Role::kMatmul},
};

bool Fits(const Rule& rule, std::string_view name, std::size_t dims) {
  if (rule.dims != 0 && rule.dims != dims) return false;
  // Between stars, texts must follow each other; the first and the last are held to the ends.
  std::string_view pattern = rule.name;
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (std::size_t next; (next = pattern.find('*')) != std::string_view::npos;) {
    const std::size_t at = name.find(pattern.substr(0, next));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + next);
    pattern.remove_prefix(next + 1);
  }
  return name.ends_with(pattern);
}

struct NameParts {
  int layer = -1;
  std::string_view rest;   // "attn_q.weight"
  std::string_view place;  // "attn_q"
  std::string_view stem;   // "blk.0.attn_q"
};

NameParts Split(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  NameParts parts{.layer = -1, .rest = name, .place = {}, .stem = {}};
  if (name.starts_with(kBlock)) {
    const std::string_view after = name.substr(kBlock.size());
    const std::size_t digits = after.find_first_not_of("0123456789");
    if (digits > 0 && digits <= 6 && digits != std::string_view::npos && after[digits] == '.') {
      parts.layer = std::stoi(std::string(after.substr(0, digits)));
      parts.rest = after.substr(digits + 1);
    }
  }
  parts.place = parts.rest;
  parts.stem = name;
  for (const std::string_view end : {".weight", ".bias", ".scale"}) {
    if (!parts.rest.ends_with(end)) continue;
    parts.place.remove_suffix(end.size());
    parts.stem.remove_suffix(end.size());
    break;
  }
  return parts;
}

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

class TableWalk {
 public:
  TableWalk(const GgufFile& file, const EngineOptions& options, DeviceKind kind)
      : file_(file), options_(options), kind_(kind) {
    const auto architecture = file.GetString("general.architecture");
    if (!architecture.ok() || !*architecture) return;
    const auto used = file.GetU64(std::string(**architecture) + ".expert_used_count");
    constexpr std::uint64_t kMost = 1024;
    if (used.ok() && *used) experts_used_ = Signed(std::clamp<std::uint64_t>(**used, 1, kMost));
  }

  void Step(std::int64_t tokens) {
    tokens_ = tokens;
    for (const GgufTensor& tensor : file_.tensors()) Add(tensor);
    AddTiedOutput();
  }

  // Whatever nothing has named by now.
  void LeaveRest();

  ModelWalk walk;

 private:
  void Add(const GgufTensor& tensor);
  void AddMatmul(const NameParts& parts, const Weight& weight, const GgufTensor& tensor);
  void AddTiedOutput();
  void Push(const NameParts& parts, const GgufTensor& tensor, const AnyArgs& call);
  void PushBias(const NameParts& parts, WalkedOp& op) const;
  const GgufTensor* Sibling(const NameParts& parts, std::string_view end) const {
    return file_.FindTensor(std::string(parts.stem).append(end));
  }

  const GgufFile& file_;
  const EngineOptions& options_;
  DeviceKind kind_;
  std::int64_t experts_used_ = 1;
  std::int64_t tokens_ = 1;
};

void TableWalk::Push(const NameParts& parts, const GgufTensor& tensor, const AnyArgs& call) {
  const char* op = OpOf(call);
  walk.ops.push_back({.layer = parts.layer,
                      .place = std::string(parts.place),
                      .op = op,
                      .call = call,
                      .unwritten = {},
                      .tokens = tokens_,
                      .tensors = {tensor.name}});
}

void TableWalk::PushBias(const NameParts& parts, WalkedOp& op) const {
  if (const GgufTensor* bias = Sibling(parts, ".bias"); bias && bias->dims.size() == 1) {
    op.tensors.push_back(bias->name);
  }
}

void TableWalk::AddMatmul(const NameParts& parts, const Weight& weight, const GgufTensor& tensor) {
  const ActType act = MatmulActType(weight.type, weight.cols, options_.exact, kind_);
  if (act == ActType::kQ15) {
    Push(parts, tensor, QuantizeArgs{.out = {}, .rows = tokens_, .cols = weight.cols});
    walk.ops.back().tensors.clear();  // it reads activations
  }
  Push(parts, tensor, MatmulArgs{.w = weight, .act = act, .q = {}, .m = tokens_});
  PushBias(parts, walk.ops.back());
}

void TableWalk::Add(const GgufTensor& tensor) {
  const NameParts parts = Split(tensor.name);
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& each) {
    return Fits(each, parts.rest, tensor.dims.size());
  });
  const auto leave = [&](const char* reason) {
    if (tokens_ == 1) walk.left.push_back({std::string(tensor.name), reason});
  };
  if (rule == std::end(kRules)) {
    return leave("no op is known for a tensor of this name and number of dimensions");
  }
  const std::int64_t cols = Signed(tensor.cols());
  const std::int64_t rows = Signed(tensor.rows());
  Weight weight{.type = tensor.type, .rows = rows, .cols = cols};
  switch (rule->role) {
    case Role::kEmbed:
      return Push(parts, tensor, EmbedArgs{.table = weight, .rows = tokens_});
    case Role::kNorm:
      if (Sibling(parts, ".bias")) {
        Push(parts, tensor,
             LayerNormArgs{.weight_rows = rows, .rows = tokens_ * rows, .cols = cols});
        return PushBias(parts, walk.ops.back());
      }
      return Push(parts, tensor,
                  RmsNormArgs{.weight_rows = rows, .rows = tokens_ * rows, .cols = cols});
    case Role::kMatmul:
      return AddMatmul(parts, weight, tensor);
    case Role::kExperts: {
      const ActType act = MatmulActType(weight.type, cols, options_.exact, kind_);
      const std::int64_t pairs = tokens_ * experts_used_;
      if (act == ActType::kQ15) {
        Push(parts, tensor, QuantizeArgs{.out = {}, .rows = pairs, .cols = cols});
        walk.ops.back().tensors.clear();
      }
      return Push(parts, tensor,
                  ExpertMatmulArgs{
                      .w = weight, .experts = Signed(tensor.dims[2]), .act = act, .rows = pairs});
    }
    case Role::kExpertScale: {
      const GgufTensor* experts = Sibling(parts, ".weight");
      if (!experts || experts->dims.size() != 3) return leave("its experts' weight is missing");
      return Push(
          parts, tensor,
          ApplyExpertScaleArgs{
              .experts = cols, .rows = tokens_ * experts_used_, .cols = Signed(experts->dims[1])});
    }
    case Role::kFactors:
      return Push(parts, tensor, MulArgs{.rows = tokens_, .cols = cols, .b_cols = cols});
    case Role::kScale: {
      const GgufTensor* embedding = file_.FindTensor("token_embd.weight");
      const std::int64_t width = embedding ? Signed(embedding->cols()) : 1;
      return Push(parts, tensor, ScaleCapArgs{.count = tokens_ * width});
    }
    case Role::kRope:
      return Push(parts, tensor, RopeTableArgs{.rows = tokens_, .pairs = cols});
    case Role::kBias:
      // The op of the weight names it.
      if (!Sibling(parts, ".weight")) leave("its weight is missing");
      return;
    case Role::kUnwritten:
      walk.ops.push_back({.layer = parts.layer,
                          .place = std::string(parts.place),
                          .op = std::string(rule->op),
                          .call = std::nullopt,
                          .unwritten = "the op table has no op " + std::string(rule->op),
                          .tokens = tokens_,
                          .tensors = {tensor.name}});
      return;
  }
}

void TableWalk::LeaveRest() {
  std::set<std::string_view> named;
  for (const WalkedOp& op : walk.ops) named.insert(op.tensors.begin(), op.tensors.end());
  for (const LeftTensor& left : walk.left) named.insert(left.name);
  std::vector<LeftTensor> rest;
  for (const GgufTensor& tensor : file_.tensors()) {
    if (named.contains(tensor.name)) continue;
    rest.push_back({std::string(tensor.name), "no op takes a bias at this place"});
  }
  walk.left.insert(walk.left.end(), rest.begin(), rest.end());
}

// The output matrix is the embedding where a decoder has none of its own.
void TableWalk::AddTiedOutput() {
  const GgufTensor* embedding = file_.FindTensor("token_embd.weight");
  if (!embedding || file_.FindTensor("output.weight") || !file_.FindTensor("output_norm.weight")) {
    return;
  }
  const NameParts output{.layer = -1, .rest = "output", .place = "output", .stem = "output"};
  AddMatmul(output,
            {.type = embedding->type,
             .rows = Signed(embedding->rows()),
             .cols = Signed(embedding->cols())},
            *embedding);
}

}  // namespace

ModelWalk WalkTensorTable(const GgufFile& file, const EngineOptions& options, DeviceKind kind,
                          const std::string& reason) {
  TableWalk table(file, options, kind);
  table.Step(1);
  if (options.ubatch > 1) table.Step(options.ubatch);
  table.LeaveRest();
  table.walk.ops.push_back({.layer = -1,
                            .place = "forward",
                            .op = "forward",
                            .call = std::nullopt,
                            .unwritten = "this build has no forward pass for it: " + reason,
                            .tokens = 1,
                            .tensors = {}});
  return std::move(table.walk);
}

}  // namespace vt
