// A model family as data: what distinguishes it from the one parametrised decoder.
//
// A new family is one file that defines a function returning its Family, and one line in
// families.cpp. What cannot be said as a field goes into `adjust`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

class SpecBuilder;

enum class Presence { kNone, kOptional, kRequired };

// Which layers see only a window of the newest positions.
struct WindowPattern {
  enum class When { kNever, kIfKey, kAlways };
  When when = When::kNever;          // kIfKey: where attention.sliding_window is present and not 0
  std::uint64_t default_window = 0;  // 0: the key must be there
  std::uint64_t period =
      0;  // layer i is windowed unless i % period == period - 1; 0: all are.
          // attention.sliding_window_pattern (a period, or a flag per layer) wins
};

// How windowed layers rotate.
enum class WindowRope {
  kSame,      // as the others, with rope.freq_base_swa where present
  kOwnBase,   // base rope.freq_base_swa (default 10000), no scaling
  kUnscaled,  // the same base, no scaling
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
  bool rotary_only_windowed = false;  // layers that see everything have no rotation
  RopePairing pairing = RopePairing::kHalf;
  WindowPattern window;
  WindowRope window_rope = WindowRope::kSame;
  Presence linear_bias = Presence::kOptional;
  FfnKind ffn = FfnKind::kGated;
  bool fused_gate_up = false;  // ffn_up holds the gate's rows, then up's
  FfnActivation activation = FfnActivation::kSilu;
  bool parallel_residual = false;
  bool ffn_norm_optional = false;  // a missing ffn_norm means a parallel residual
  bool scaled_embedding = false;   // by sqrt(width)
  bool position_embedding = false;
  // A model of this many layers scales attention by the width per head, not the head's own size.
  std::uint64_t width_scaled_layers = 0;
  // Called when the spec's common keys are read and before its tensors are looked up.
  Status (*adjust)(const SpecBuilder& keys, ModelSpec& spec) = nullptr;
};

std::span<const Family> Families();

}  // namespace vt
