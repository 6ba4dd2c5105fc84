// Mixers with a recurrent state: Mamba 2, the gated delta rule, the gated short convolution.
#include "engine/forward_pass.h"
#include "engine/state_cache.h"

namespace vt {
namespace {

// Rows [begin, begin + rows) of a projection that several parts share.
LinearRef RowsOf(const LinearRef& all, std::int64_t begin, std::int64_t rows) {
  LinearRef part = all;
  part.weight.row_begin += begin;
  part.weight.rows = rows;
  if (part.bias) {
    part.bias.row_begin += begin;  // of a vector: its first value
    part.bias.cols = rows;
  }
  return part;
}

}  // namespace

Status Pass::Recurrent(int index, const LayerSpec& layer, Operand& input) {
  switch (layer.mixer) {
    case MixerKind::kMamba2:
      return Mamba2(index, layer, input);
    case MixerKind::kDeltaNet:
      return DeltaNet(index, layer, input);
    default:
      return ShortConv(index, layer, input);
  }
}

Status Pass::Convolve(int index, const LayerSpec& layer, const float* x, std::int64_t x_stride) {
  const RecurrentSpec& r = layer.recurrent;
  ops_->At(index, "ssm_conv");
  return ops_->Run(ShortConvArgs{.x = x,
                                 .x_stride = x_stride,
                                 .w = w_->Floats(r.conv.weight),
                                 .bias = w_->Floats(r.conv.bias),
                                 .row = b_->state_rows,
                                 .rows = rows_,
                                 .channels = r.channels,
                                 .taps = r.taps,
                                 .silu = layer.mixer != MixerKind::kShortConv,
                                 .state = c_.states ? c_.states->Conv(index) : nullptr,
                                 .out = b_->conv});
}

// in = z, x, b, c, dt of a row; x, b and c are convolved. out = norm(silu(z) * scan) in groups.
Status Pass::Mamba2(int index, const LayerSpec& layer, Operand& input) {
  const RecurrentSpec& r = layer.recurrent;
  const std::int64_t inner = r.heads * r.head_dim;
  const std::int64_t stride = r.channels + r.heads;
  ops_->At(index, "ssm_in");
  VT_RETURN_IF_ERROR(Matmul(input, RowsOf(r.in, 0, inner), b_->recurrent_gate));
  VT_RETURN_IF_ERROR(Matmul(input, RowsOf(r.in, inner, stride), b_->recurrent_in));
  VT_RETURN_IF_ERROR(Convolve(index, layer, b_->recurrent_in, stride));
  ops_->At(index, "ssm_scan");
  const float* b = b_->conv + inner;
  VT_RETURN_IF_ERROR(ops_->Run(SsmScanArgs{.x = b_->conv,
                                           .b = b,
                                           .c = b + r.groups * r.state_size,
                                           .x_stride = r.channels,
                                           .dt = b_->recurrent_in + r.channels,
                                           .dt_stride = stride,
                                           .dt_bias = w_->Floats(r.dt_bias),
                                           .a = w_->Floats(r.a),
                                           .d = w_->Floats(r.d),
                                           .row = b_->state_rows,
                                           .rows = rows_,
                                           .heads = r.heads,
                                           .head_dim = r.head_dim,
                                           .groups = r.groups,
                                           .state_size = r.state_size,
                                           .state = c_.states ? c_.states->State(index) : nullptr,
                                           .out = b_->recurrent_out}));
  float* gated = b_->recurrent_gate;
  VT_RETURN_IF_ERROR(ops_->Run(SiluMulArgs{
      .gate = b_->recurrent_gate, .up = b_->recurrent_out, .out = gated, .count = rows_ * inner}));
  ops_->At(index, "ssm_norm");
  return Norm(r.norm, NormKind::kRms, gated, b_->recurrent_out, rows_ * r.groups, inner / r.groups);
}

// alpha and beta of all heads; where one projection makes both, they come by key head: the betas of
// its heads, then the alphas.
Status Pass::DeltaGates(int index, const LayerSpec& layer, Operand& input, const float** alpha,
                        const float** beta) {
  const RecurrentSpec& r = layer.recurrent;
  *alpha = b_->recurrent_alpha;
  *beta = b_->recurrent_beta;
  if (!r.alpha_beta) {
    ops_->At(index, "ssm_alpha");
    VT_RETURN_IF_ERROR(Matmul(input, r.alpha, b_->recurrent_alpha));
    ops_->At(index, "ssm_beta");
    return Matmul(input, r.beta, b_->recurrent_beta);
  }
  ops_->At(index, "ssm_ba");
  const std::int64_t each = r.heads / r.groups;
  float* both = b_->recurrent_alpha;
  float* split = b_->recurrent_beta + rows_ * r.heads;
  *alpha = split;
  VT_RETURN_IF_ERROR(Matmul(input, r.alpha_beta, both));
  VT_RETURN_IF_ERROR(CopyColumns(both, 2 * each, b_->recurrent_beta, each, rows_ * r.groups, each));
  return CopyColumns(both + each, 2 * each, split, each, rows_ * r.groups, each);
}

// in = q, k, v of a row, all convolved. out = norm(rule) * silu(z), head by head.
Status Pass::DeltaNet(int index, const LayerSpec& layer, Operand& input) {
  const RecurrentSpec& r = layer.recurrent;
  const std::int64_t inner = r.heads * r.head_dim;
  ops_->At(index, "ssm_in");
  VT_RETURN_IF_ERROR(Matmul(input, r.in, b_->recurrent_in));
  ops_->At(index, "ssm_gate");
  VT_RETURN_IF_ERROR(Matmul(input, r.gate, b_->recurrent_gate));
  const float* alpha = nullptr;
  const float* beta = nullptr;
  VT_RETURN_IF_ERROR(DeltaGates(index, layer, input, &alpha, &beta));
  VT_RETURN_IF_ERROR(Convolve(index, layer, b_->recurrent_in, r.channels));
  ops_->At(index, "ssm_scan");
  const float* k = b_->conv + r.groups * r.state_size;
  VT_RETURN_IF_ERROR(ops_->Run(DeltaRuleArgs{.q = b_->conv,
                                             .k = k,
                                             .v = k + r.groups * r.state_size,
                                             .qkv_stride = r.channels,
                                             .alpha = alpha,
                                             .beta = beta,
                                             .dt_bias = w_->Floats(r.dt_bias),
                                             .a = w_->Floats(r.a),
                                             .row = b_->state_rows,
                                             .rows = rows_,
                                             .heads = r.heads,
                                             .key_heads = r.groups,
                                             .interleaved_keys = r.interleaved_keys,
                                             .key_dim = r.state_size,
                                             .value_dim = r.head_dim,
                                             .eps = spec_.norm_eps,
                                             .state = c_.states ? c_.states->State(index) : nullptr,
                                             .out = b_->recurrent_out}));
  ops_->At(index, "ssm_norm");
  float* normed = b_->conv;  // q, k and v are done with
  VT_RETURN_IF_ERROR(
      Norm(r.norm, NormKind::kRms, b_->recurrent_out, normed, rows_ * r.heads, r.head_dim));
  return ops_->Run(SiluMulArgs{
      .gate = b_->recurrent_gate, .up = normed, .out = b_->recurrent_out, .count = rows_ * inner});
}

// in = b, c, x of a row. out = c * conv(b * x).
Status Pass::ShortConv(int index, const LayerSpec& layer, Operand& input) {
  const RecurrentSpec& r = layer.recurrent;
  const std::int64_t count = rows_ * r.channels;
  float* b = b_->recurrent_in;
  float* c = b_->recurrent_gate;
  float* x = b + count;
  ops_->At(index, "ssm_in");
  VT_RETURN_IF_ERROR(Matmul(input, RowsOf(r.in, 0, r.channels), b));
  VT_RETURN_IF_ERROR(Matmul(input, RowsOf(r.in, r.channels, r.channels), c));
  VT_RETURN_IF_ERROR(Matmul(input, RowsOf(r.in, 2 * r.channels, r.channels), x));
  const auto product = [&](const float* one, const float* other, float* out) {
    return ops_->Run(
        MulArgs{.a = one, .b = other, .out = out, .rows = 1, .cols = count, .b_cols = count});
  };
  VT_RETURN_IF_ERROR(product(x, b, x));
  VT_RETURN_IF_ERROR(Convolve(index, layer, x, r.channels));
  return product(b_->conv, c, b_->recurrent_out);
}

}  // namespace vt
