// ModelSpec: a decoder described as data, read from the header of a model file alone.
//
// The spec holds what the forward pass, the memory planner and the op table need: sizes, norms,
// attention variant and window per layer, rotary variants, feed-forward kind, scales, caps, and for
// every weight the tensor (or the rows of one) that plays its part. No weight is touched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

// A weight's place in the file: rows [row_begin, row_begin + rows) of a tensor. Fused tensors (q, k
// and v in one) give several of these; of a vector (rows 1), row_begin counts values. tensor < 0:
// the model has no such weight.
struct WeightRef {
  int tensor = -1;  // index into GgufFile::tensors()
  std::int64_t row_begin = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  // Of an f8_e4m3 tensor: the tensor with its scales, each for a block of scale_rows x scale_cols
  // values; blocks begin anew every matrix_rows rows (0: never).
  int scales = -1;
  std::int64_t scale_rows = 1;
  std::int64_t scale_cols = 0;  // 0: whole rows
  std::int64_t matrix_rows = 0;
  explicit operator bool() const { return tensor >= 0; }
};

// A weight with its optional bias of as many values as the weight has rows (or, of a norm,
// columns).
struct LinearRef {
  WeightRef weight;
  WeightRef bias;
  explicit operator bool() const { return static_cast<bool>(weight); }
};

enum class NormKind { kRms, kLayer };
enum class RopePairing { kInterleaved, kHalf };
enum class FfnKind { kGated, kPlain };  // down(act(gate x) * up x), down(act(up x))
enum class FfnActivation { kSilu, kGelu, kRelu, kReluSquared, kClampedSilu };
enum class NormSpan { kHead, kRow };  // q and k norms: each head by itself, or all heads as one row
std::string_view NameOf(NormKind kind);
std::string_view NameOf(FfnActivation activation);

// phi_i = position * inv_freq_i, i < dims / 2; see models/rope.h for the scaling rules.
struct RopeSpec {
  enum class Scaling { kNone, kLinear, kYarn, kLongRope };
  RopePairing pairing = RopePairing::kHalf;
  std::int64_t dims = 0;  // rotated values of a head; the rest pass through
  double base = 10000.0;
  Scaling scaling = Scaling::kNone;
  double factor = 1.0;
  std::uint64_t original_context = 0;
  double attention_factor = 1.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  double log_multiplier = 0.0;
  WeightRef factors;        // divides the frequencies
  WeightRef factors_long;   // instead of factors, when the context exceeds original_context
  WeightRef factors_short;  // and when it does not
};

// What mixes positions in a layer.
enum class MixerKind {
  kNone,       // nothing: the layer is a feed-forward alone
  kAttention,  // heads with keys and values of their own
  kLatent,     // multi-head latent attention: one latent row per position serves all heads
  kMamba2,
  kDeltaNet,   // gated delta rule
  kShortConv,  // gated short convolution
};

// The sparse choice of positions that a latent attention reads (DeepSeek-V3.2's indexer).
struct IndexerSpec {
  std::int64_t heads = 0;  // 0: none, attention sees all positions
  std::int64_t dim = 0;
  std::int64_t top = 0;
  int source = -1;    // the layer whose choice this one uses; its own number: it has an indexer
  int rope = -1;      // index into ModelSpec::ropes; rotates the first values of q and k
  float eps = 1e-6f;  // of k_norm, a layer norm
  LinearRef q;        // [heads * dim, q_rank], from the query latent
  LinearRef k;        // [dim, width]
  LinearRef k_norm;
  LinearRef weights;  // [heads, width]
};

// Of a layer of kind kLatent. heads, rope and attention_scale stand in the LayerSpec; its key_dim
// (nope + rope_dim) and value_dim are those of the expanded heads, its kv_heads is 1.
struct LatentSpec {
  std::int64_t q_rank = 0;   // 0: q is made from the stream at once
  std::int64_t kv_rank = 0;  // values of a position's latent
  std::int64_t rope_dim = 0;
  std::int64_t nope_dim = 0;  // of a query head, beside the rotated part
  LinearRef q_a, q_a_norm;
  LinearRef q_b;   // [heads * (nope_dim + rope_dim), q_rank or width]
  LinearRef kv_a;  // [kv_rank + rope_dim, width]
  LinearRef kv_a_norm;
  WeightRef k_b;  // [heads * kv_rank, nope_dim]: a query head into the latent's space
  WeightRef v_b;  // [heads * value_dim, kv_rank]: the latent into a head's values
  // Keys and values of all heads instead, [heads * (nope_dim + value_dim), kv_rank]: the cache then
  // holds them expanded, with as many key heads as query heads.
  LinearRef kv_b;
  IndexerSpec indexer;
};

// Of a layer of kind kMamba2, kDeltaNet or kShortConv. State is f32.
struct RecurrentSpec {
  std::int64_t taps = 0;      // of the convolution
  std::int64_t channels = 0;  // that are convolved
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;    // values of a head
  std::int64_t groups = 0;      // of b and c; heads of q and k
  std::int64_t state_size = 0;  // values of b and c; of a head of q and k
  bool interleaved_keys = false;
  LinearRef in;     // Mamba 2: z, x, b, c, dt; delta rule: q, k, v; short conv: b, c, x
  LinearRef gate;   // delta rule: z
  LinearRef alpha;  // delta rule: [heads, width]
  LinearRef beta;
  LinearRef alpha_beta;     // delta rule: both, [groups * 2 * (heads / groups), width], instead
  LinearRef conv;           // [channels, taps]
  WeightRef dt_bias, a, d;  // [heads]
  LinearRef norm;
  LinearRef out;
  std::int64_t state_floats() const { return heads * head_dim * state_size; }
  std::int64_t conv_floats() const { return channels * (taps - 1); }
};

// Which values a router's weights come from, before they may be divided by their sum.
enum class RouterGating { kSoftmax, kSigmoid, kSoftmaxOfChosen };
// What the router reads.
enum class RouterInput {
  kExperts,  // what the experts read
  kStream,   // the residual stream, normed without weight, times width^-1/2, times router_scale
  kLayer,    // the stream as it entered the layer
};

// Matrices of all experts: expert e's rows are [e * expert_rows + first, ... + rows).
struct ExpertRef {
  WeightRef weight;  // of all experts: [experts * expert_rows, cols]
  WeightRef bias;    // [experts * expert_rows]
  std::int64_t first = 0;
  std::int64_t rows = 0;
  explicit operator bool() const { return static_cast<bool>(weight); }
};

// A mixture of experts, beside or instead of the dense feed-forward.
struct MoeSpec {
  std::int64_t experts = 0;  // 0: the layer has none
  std::int64_t used = 0;     // by each token
  std::int64_t width = 0;    // inner values of an expert
  RouterInput router_input = RouterInput::kExperts;
  RouterGating gating = RouterGating::kSoftmax;
  float router_softcap = 0.0f;  // on the router's logits; 0: none
  std::int64_t groups = 1;
  std::int64_t groups_used = 1;
  bool normalize = false;     // the chosen weights by their sum
  float weight_scale = 1.0f;  // on the chosen weights
  bool weigh_input = false;   // weights multiply what experts read, not what they give
  FfnKind ffn = FfnKind::kGated;
  FfnActivation activation = FfnActivation::kSilu;
  LinearRef router;          // [experts, width]
  WeightRef router_scale;    // [width], with RouterInput::kStream
  WeightRef selection_bias;  // [experts]: steers the choice alone
  WeightRef expert_scale;    // [experts], on the weights after they are normalised
  ExpertRef gate, up, down;
  // An expert that all tokens use, of the same kind; 0: none.
  std::int64_t shared_width = 0;
  LinearRef shared_gate, shared_up, shared_down;
  LinearRef shared_router;  // [1, width]: sigmoid of it scales the shared expert
  // With a dense feed-forward beside it, each branch has norms of its own.
  float branch_scale = 1.0f;  // on the sum of both
  LinearRef norm;             // on what experts read, instead of ffn_norm
  LinearRef post_norm;        // on what they give
};

struct LayerSpec {
  MixerKind mixer = MixerKind::kAttention;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;    // of one head
  std::int64_t value_dim = 0;  // of one head
  std::int64_t window = 0;     // a query sees this many newest positions, itself included; 0: all
  bool chunked = false;        // instead: those of its own stretch of `window` positions
  int kv_source = -1;          // the layer whose keys and values it reads; -1: its own
  int rope = -1;               // index into ModelSpec::ropes; -1: no rotation
  bool rope_before_norm = false;  // q and k are rotated before their norms
  bool unit_qk_norm = false;      // RMS norm of q and k heads without weight
  bool unit_v_norm = false;       // RMS norm of v heads without weight
  bool tempered = false;          // ModelSpec's temperature scales this layer's queries
  float attention_scale = 1.0f;
  float attention_softcap = 0.0f;  // 0: none
  float value_scale = 1.0f;        // on what attention gives
  std::int64_t ffn_width = 0;      // of the dense feed-forward; 0: none
  bool parallel_residual = false;  // the feed-forward reads what attention read

  LinearRef attn_norm;   // before attention; absent: the stream itself
  LinearRef q, k, v, o;  // v absent: values are the keys before norm and rotation
  bool gated_q = false;  // each head of q is followed by as many values of a gate
  LinearRef attn_gate;   // sigmoid of it scales what attention gives
  LinearRef q_norm, k_norm;
  WeightRef sinks;           // [heads]
  LinearRef attn_post_norm;  // on the attention's output, before it is added
  LatentSpec latent;
  RecurrentSpec recurrent;
  LinearRef ffn_norm;
  LinearRef gate, up, down;
  LinearRef dense_post_norm;  // on the dense branch where experts stand beside it
  MoeSpec moe;
  LinearRef ffn_post_norm;
  // The layer's own embedding of the token (Gemma 4): z + norm(proj(gelu(gate z) * u)).
  LinearRef ple_gate, ple_proj, ple_norm;
  WeightRef output_scale;  // [1], multiplies the stream at the layer's end

  bool has_mixer() const { return mixer != MixerKind::kNone; }
  bool recurs() const {
    return mixer == MixerKind::kMamba2 || mixer == MixerKind::kDeltaNet ||
           mixer == MixerKind::kShortConv;
  }
  // Whether it has cells of its own in the KV cache.
  bool caches() const {
    return (mixer == MixerKind::kAttention && kv_source < 0) || mixer == MixerKind::kLatent;
  }
};

struct ModelSpec {
  std::string architecture;
  std::string name;
  std::uint64_t context_train = 0;
  std::int64_t vocab = 0;
  std::int64_t width = 0;  // of the residual stream

  NormKind norm = NormKind::kRms;
  float norm_eps = 1e-5f;
  NormKind qk_norm = NormKind::kRms;
  NormSpan qk_norm_span = NormSpan::kHead;
  FfnKind ffn = FfnKind::kGated;
  FfnActivation activation = FfnActivation::kSilu;
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;  // on each branch before it is added
  float logit_scale = 1.0f;
  float logit_softcap = 0.0f;  // 0: none
  // q of tempered layers is multiplied by 1 + scale * ln(1 + floor((position + offset) / length)).
  double temperature_scale = 0.0;
  std::uint64_t temperature_length = 0;
  double temperature_offset = 0.0;

  WeightRef embedding;           // [vocab, width]
  WeightRef position_embedding;  // [context_train, width], absent with rotary positions
  LinearRef embedding_norm;      // on the embedded tokens
  // A row of ple_width values per layer for each token, gathered and mixed with a projection of the
  // embedding: u = (norm(proj x / sqrt(width)) + table * sqrt(ple_width)) / sqrt(2).
  std::int64_t ple_width = 0;
  WeightRef ple_table;       // [vocab, layers * ple_width]
  LinearRef ple_model_proj;  // [layers * ple_width, width]
  LinearRef ple_model_norm;  // [ple_width]
  LinearRef output_norm;
  LinearRef output;  // [vocab, width]; the embedding when tied
  bool tied = false;

  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;
  bool recurs() const {
    for (const LayerSpec& layer : layers) {
      if (layer.recurs()) return true;
    }
    return false;
  }
  std::vector<std::string> unused_tensors;  // in the file, but of no use to this decoder
};

// Builds the spec. kUnsupported: an architecture that is not known, with the list of those that
// are, or a variant of one; kCorrupt: a key or tensor that is missing or wrong, by name, with both
// values.
Result<ModelSpec> ReadModelSpec(const GgufFile& file);

std::vector<std::string_view> KnownArchitectures();

}  // namespace vt
