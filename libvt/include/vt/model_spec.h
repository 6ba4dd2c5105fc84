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
enum class FfnActivation { kSilu, kGelu };
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

struct LayerSpec {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;    // of one head
  std::int64_t value_dim = 0;  // of one head
  std::int64_t window = 0;     // a query sees this many newest positions, itself included; 0: all
  int rope = -1;               // index into ModelSpec::ropes; -1: no rotation
  float attention_scale = 1.0f;
  float attention_softcap = 0.0f;  // 0: none
  std::int64_t ffn_width = 0;
  bool parallel_residual = false;  // the feed-forward reads what attention read

  LinearRef attn_norm;  // before attention; absent: the stream itself
  LinearRef q, k, v, o;
  LinearRef q_norm, k_norm;
  LinearRef attn_post_norm;  // on the attention's output, before it is added
  LinearRef ffn_norm;
  LinearRef gate, up, down;
  LinearRef ffn_post_norm;
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
  // q is multiplied by 1 + scale * ln(1 + floor(position / length)); scale 0: not at all.
  double temperature_scale = 0.0;
  std::uint64_t temperature_length = 0;

  WeightRef embedding;           // [vocab, width]
  WeightRef position_embedding;  // [context_train, width], absent with rotary positions
  LinearRef output_norm;
  LinearRef output;  // [vocab, width]; the embedding when tied
  bool tied = false;

  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;
  std::vector<std::string> unused_tensors;  // in the file, but of no use to this decoder
};

// Builds the spec. kUnsupported: an architecture that is not known, with the list of those that
// are, or a variant of one; kCorrupt: a key or tensor that is missing or wrong, by name, with both
// values.
Result<ModelSpec> ReadModelSpec(const GgufFile& file);

std::vector<std::string_view> KnownArchitectures();

}  // namespace vt
