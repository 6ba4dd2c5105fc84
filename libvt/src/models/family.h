// A model family as data: what distinguishes it from the one parametrised decoder.
//
// A new family is one file that defines a function returning its Family, and one line in
// families.cpp. What cannot be said as a field goes into `adjust`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

class SpecBuilder;

enum class Presence { kNone, kOptional, kRequired };

// Which layers see only a window of the newest positions.
struct WindowPattern {
  // kIfKey: where attention.sliding_window is present and not 0; kUnlessZero: unless it is 0.
  enum class When { kNever, kIfKey, kUnlessZero, kAlways };
  When when = When::kNever;
  std::uint64_t default_window = 0;  // 0: the key must be there
  std::uint64_t period =
      0;                    // layer i is windowed unless i % period == period - 1; 0: all are.
                            // attention.sliding_window_pattern (a period, or a flag per layer) wins
  bool full_first = false;  // layer i is windowed unless i % period == 0
  std::uint64_t fixed = 0;  // the window whatever the key says
  bool chunked = false;     // LayerSpec::chunked
};

// How windowed layers rotate.
enum class WindowRope {
  kSame,      // as the others, with rope.freq_base_swa where present
  kOwnBase,   // base rope.freq_base_swa (default 10000), no scaling
  kUnscaled,  // the same base, no scaling
};

// What the keys and tensors of a mixture of experts do not say.
struct MoeRules {
  RouterGating gating = RouterGating::kSoftmax;  // where expert_gating_func is absent
  bool normalize = false;                        // where expert_weights_norm is absent
  RouterInput router_input = RouterInput::kExperts;
  bool weigh_input = false;
  bool dense_beside = false;    // a dense feed-forward stands beside the experts
  bool dense_optional = false;  // where it is in the file
  float branch_scale = 1.0f;    // on the sum of both
  // A layer has experts when its router is in the file; else by leading_dense_block_count and
  // interleave_moe_layer_step.
  bool by_presence = false;
  Presence linear_bias = Presence::kOptional;
};

struct Family {
  std::string_view architecture;
  NormKind norm = NormKind::kRms;
  Presence norm_bias = Presence::kNone;
  bool pre_norms = true;    // attn_norm, ffn_norm
  bool post_norms = false;  // post_attention_norm, post_ffw_norm
  Presence qk_norm = Presence::kNone;
  NormKind qk_norm_kind = NormKind::kRms;
  NormSpan qk_norm_span = NormSpan::kHead;
  bool qk_norm_per_head = false;  // a weight row for each head, not one for all
  bool rotary = true;
  std::uint64_t unrotated_period = 0;  // layer i does not rotate where i % period == period - 1
  bool rope_before_norm = false;       // of queries and keys
  bool rotary_only_windowed = false;   // layers that see everything have no rotation
  RopePairing pairing = RopePairing::kHalf;
  WindowPattern window;
  WindowRope window_rope = WindowRope::kSame;
  Presence linear_bias = Presence::kOptional;
  std::optional<Presence> output_bias;  // of attention's output, where it is not linear_bias
  FfnKind ffn = FfnKind::kGated;
  bool fused_gate_up = false;  // ffn_up holds the gate's rows, then up's
  FfnActivation activation = FfnActivation::kSilu;
  bool parallel_residual = false;
  bool ffn_norm_optional = false;  // a missing ffn_norm means a parallel residual
  bool scaled_embedding = false;   // by sqrt(width)
  bool position_embedding = false;
  // A model of this many layers scales attention by the width per head, not the head's own size.
  std::uint64_t width_scaled_layers = 0;
  bool output_norm = true;
  bool layer_norm_eps = false;  // RMS norms' eps may stand under the key of layer norms
  std::string_view ffn_norm_name = "ffn_norm";
  Presence sinks = Presence::kNone;
  bool values_may_be_keys = false;  // attn_v may be absent
  MoeRules moe;
  // Hooks, in the order of their calls. The first sets the layers' mixers, once their number is
  // known; without it all are kAttention.
  Status (*mixers)(const SpecBuilder& keys, ModelSpec& spec) = nullptr;
  // When the spec's common keys are read and before its tensors are looked up.
  Status (*adjust)(const SpecBuilder& keys, ModelSpec& spec) = nullptr;
  // After the common tensors of a layer: those that only this family has. `prefix` is "blk.N.".
  Status (*layer_tensors)(SpecBuilder& builder, ModelSpec& spec, std::size_t index,
                          const std::string& prefix) = nullptr;
  // After all layers.
  Status (*model_tensors)(SpecBuilder& builder, ModelSpec& spec) = nullptr;
};

std::span<const Family> Families();

}  // namespace vt
