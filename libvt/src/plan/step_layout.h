// The buffers of one step, each named once: the planner adds them up and the engine carves them.
#pragma once

#include <cstdint>

#include "ops/args.h"

namespace vt {

// Sizes of one step's buffers, in elements for one token unless said otherwise: the widest of any
// layer, 0 where no layer needs it.
struct StepSizes {
  std::int64_t tokens = 0;  // ubatch
  std::int64_t logit_rows = 0;
  std::int64_t width = 0;
  std::int64_t q = 0;  // heads * key_dim, with the gates beside them
  std::int64_t k = 0;
  std::int64_t v = 0;
  std::int64_t attention = 0;  // heads * value_dim
  std::int64_t attn_gate = 0;
  std::int64_t q_split = 0;  // heads * key_dim of queries that come with gates
  std::int64_t ffn = 0;
  std::int64_t quantized = 0;  // the widest matmul input, or all inputs of a token's experts

  std::int64_t q_latent = 0;
  std::int64_t kv_latent = 0;  // kv_rank + rope_dim
  std::int64_t kv_expanded = 0;
  std::int64_t q_absorbed = 0;  // heads * (kv_rank + rope_dim)
  std::int64_t latent_out = 0;  // heads * kv_rank
  std::int64_t index_q = 0;
  std::int64_t index_k = 0;
  std::int64_t index_weights = 0;
  std::int64_t index_top = 0;
  std::int64_t sparse = 0;  // 1 where a layer selects positions

  std::int64_t experts = 0;
  std::int64_t used = 0;
  std::int64_t pair_in = 0;     // width, for each pair of token and expert
  std::int64_t pair_inner = 0;  // inner values of an expert
  std::int64_t moe = 0;         // width, for results beside the dense branch
  std::int64_t shared = 0;      // inner values of the shared expert

  std::int64_t recurrent_in = 0;
  std::int64_t recurrent_gate = 0;
  std::int64_t recurrent_heads = 0;
  std::int64_t conv = 0;
  std::int64_t recurrent_out = 0;
  std::int64_t state_rows = 0;  // 1 where a layer recurs

  std::int64_t ple = 0;  // layers * ple_width
  std::int64_t ple_width = 0;

  std::int64_t vocab = 0;
  std::int64_t rope_values = 0;     // of all rope tables
  std::int64_t groups = 0;          // of layers that share KV pages
  std::int64_t scratch_floats = 0;  // of one thread
  std::int64_t threads = 0;
};

// X(type, name, elements per token), carved in this order from the row "activations". `s` is a
// StepSizes.
#define VT_STEP_BUFFERS(X)                                 \
  X(float, stream, s.width)                                \
  X(float, normed, s.width)                                \
  X(float, branch, s.width)                                \
  X(float, q, s.q)                                         \
  X(float, k, s.k)                                         \
  X(float, v, s.v)                                         \
  X(float, attention, s.attention)                         \
  X(float, attn_gate, s.attn_gate)                         \
  X(float, q_split, s.q_split)                             \
  X(float, gate, s.ffn)                                    \
  X(float, up, s.ffn)                                      \
  X(std::int8_t, quantized_high, s.quantized)              \
  X(std::int8_t, quantized_low, s.quantized)               \
  X(float, quantized_scales, s.quantized / kQ15Group)      \
  X(std::int32_t, quantized_sums, s.quantized / kQ15Group) \
  X(float, q_latent, s.q_latent)                           \
  X(float, kv_latent, s.kv_latent)                         \
  X(float, kv_expanded, s.kv_expanded)                     \
  X(float, q_absorbed, s.q_absorbed)                       \
  X(float, latent_out, s.latent_out)                       \
  X(float, index_q, s.index_q)                             \
  X(float, index_k, s.index_k)                             \
  X(float, index_weights, s.index_weights)                 \
  X(std::int32_t, selected, s.index_top)                   \
  X(AttentionRow, sparse_rows, s.sparse)                   \
  X(float, router_in, s.experts > 0 ? s.width : 0)         \
  X(float, router_logits, s.experts)                       \
  X(std::int32_t, expert_ids, s.used)                      \
  X(float, expert_weights, s.used)                         \
  X(float, scaled_weights, s.used)                         \
  X(std::int32_t, pair_order, s.used)                      \
  X(std::int32_t, sorted_ids, s.used)                      \
  X(float, pair_in, s.used* s.pair_in)                     \
  X(float, pair_gate, s.used* s.pair_inner)                \
  X(float, pair_up, s.used* s.pair_inner)                  \
  X(float, pair_out, s.used* s.pair_in)                    \
  X(float, moe, s.moe)                                     \
  X(float, moe_in, s.moe)                                  \
  X(float, shared_gate, s.shared)                          \
  X(float, shared_up, s.shared)                            \
  X(float, shared_scale, s.shared > 0 ? 1 : 0)             \
  X(float, recurrent_in, s.recurrent_in)                   \
  X(float, recurrent_gate, s.recurrent_gate)               \
  X(float, recurrent_alpha, 2 * s.recurrent_heads)         \
  X(float, recurrent_beta, 2 * s.recurrent_heads)          \
  X(float, conv, s.conv)                                   \
  X(float, recurrent_out, s.recurrent_out)                 \
  X(StateRow, state_rows, s.state_rows)                    \
  X(float, ple, s.ple)                                     \
  X(float, ple_rows, s.ple)                                \
  X(float, ple_inner, 2 * s.ple_width)                     \
  X(float, rope_values, s.rope_values)                     \
  X(std::int32_t, ids, 1)                                  \
  X(std::int32_t, positions, 1)                            \
  X(std::int32_t, group_slots, s.groups)                   \
  X(AttentionRow, group_rows, s.groups)

}  // namespace vt
