// The typed arguments of every op: plain structs of pointers and sizes, row-major throughout.
//
// Kernels compiled for one instruction set include this header, so nothing here may drag in inline
// library code. Pointers are not owned. All activations are f32 unless a field says otherwise.
// Every op's result for a row depends on that row alone (and, in attention, on its own sequence):
// not on the number of rows, their order, or the threads.
#pragma once

#include <cstdint>

#include "vt/dtype.h"

namespace vt {

// A matrix of the model file as a device holds it.
enum class WeightLayout : std::uint8_t { kRowMajor };
struct Weight {
  DType type = DType::kF32;
  WeightLayout layout = WeightLayout::kRowMajor;
  std::int64_t rows = 0;
  std::int64_t cols = 0;  // of a row, a whole number of blocks
  const void* data = nullptr;
};

// Activations quantised to 15 bits: symmetric, one scale per 32 values, x[i] ~ q[i] * scale with q
// in
// [-16256, 16256], held as two signed digits: q = 128 * high + low, low in [-64, 64]. Dot products
// of each digit with small whole weights are exact in 32 bits, and so is their sum. sums holds the
// sum of the 32 q of each group.
inline constexpr std::int64_t kQ15Group = 32;
struct Q15Rows {
  std::int8_t* high = nullptr;   // [rows, cols]
  std::int8_t* low = nullptr;    // [rows, cols]
  float* scales = nullptr;       // [rows, cols / 32]
  std::int32_t* sums = nullptr;  // [rows, cols / 32]
};

// out[r, :] = table[ids[r], :] * scale
struct EmbedArgs {
  static constexpr const char* kOp = "embed";
  Weight table;
  const std::int32_t* ids = nullptr;  // [rows], each in [0, table.rows)
  std::int64_t rows = 0;
  float scale = 1.0f;
  float* out = nullptr;  // [rows, table.cols]
};

// out = x / sqrt(mean(x^2) + eps) * weight. weight has weight_rows rows of cols values, used in
// turn (row r of x takes row r % weight_rows); null means all ones.
struct RmsNormArgs {
  static constexpr const char* kOp = "rms_norm";
  const float* x = nullptr;  // [rows, cols]
  const float* weight = nullptr;
  std::int64_t weight_rows = 1;
  float* out = nullptr;  // [rows, cols], may be x
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
};

// out = (x - mean) / sqrt(var + eps) * weight + bias, var over n. weight_rows as in RmsNormArgs,
// for weight and bias both; bias may be null.
struct LayerNormArgs {
  static constexpr const char* kOp = "layer_norm";
  const float* x = nullptr;  // [rows, cols]
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t weight_rows = 1;
  float* out = nullptr;  // [rows, cols], may be x
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-5f;
};

// Quantises rows for a matmul; cols a multiple of 32. scale = amax / 16256, values rounded half to
// even; a group of zeros has scale 0.
struct QuantizeArgs {
  static constexpr const char* kOp = "quantize";
  const float* x = nullptr;  // [rows, cols]
  Q15Rows out;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

// out[m, n] = sum_k w[n, k] * x[m, k] (+ bias[n]) (+ out[m, n] when accumulate)
enum class ActType : std::uint8_t { kF32, kQ15 };
struct MatmulArgs {
  static constexpr const char* kOp = "matmul";
  Weight w;  // [n, k]
  ActType act = ActType::kF32;
  const float* x = nullptr;  // [m, k] when act is kF32
  Q15Rows q;                 // [m, k] when act is kQ15
  std::int64_t m = 0;
  const float* bias = nullptr;  // [n] or null
  bool accumulate = false;
  float* out = nullptr;  // [m, n]
};

// cos and sin of every rotary pair: table[r, 0, i] = cos(positions[r] * inv_freq[i]) * magnitude,
// table[r, 1, i] the sine. Computed in double, stored in f32.
struct RopeTableArgs {
  static constexpr const char* kOp = "rope_table";
  const std::int32_t* positions = nullptr;  // [rows]
  const double* inv_freq = nullptr;         // [pairs]
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
  double magnitude = 1.0;
  float* table = nullptr;  // [rows, 2, pairs]
};

// Rotates the first 2 * pairs values of each head in place: (a, b) -> (a cos - b sin, a sin + b
// cos). half: a = x[i], b = x[i + pairs]; interleaved: a = x[2i], b = x[2i + 1].
enum class RopeLayout : std::uint8_t { kInterleaved, kHalf };
struct RopeArgs {
  static constexpr const char* kOp = "rope";
  float* x = nullptr;            // [rows, heads, head_dim]
  const float* table = nullptr;  // [rows, 2, pairs]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t pairs = 0;
  RopeLayout layout = RopeLayout::kHalf;
};

// One layer's keys or values: cells of heads * head_dim values, in pages of page_cells cells.
// type is f32, f16, bf16 or q8_0 (then heads * head_dim is a multiple of 32, and so is head_dim).
struct KvCells {
  DType type = DType::kF16;
  void* data = nullptr;  // cell c starts at data + c * cell_bytes
  std::int64_t cell_bytes = 0;
};

// cells[slots[r]] = x[r, :], converted (round to nearest even; q8_0 as the file format).
struct KvStoreArgs {
  static constexpr const char* kOp = "kv_store";
  const float* x = nullptr;             // [rows, cols]
  const std::int32_t* slots = nullptr;  // [rows], cell index
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  KvCells cells;
};

// Where one query row finds its keys: positions first..last (inclusive) of one sequence. Position p
// lives in cell pages[p / page_cells] * page_cells + p % page_cells.
struct AttentionRow {
  const std::int32_t* pages = nullptr;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

// out[r, h] = sum_p softmax_p(softcap(scale * q[r, h] . k[p, h'])) v[p, h'], h' = h / (heads /
// kv_heads). softcap 0 is none; an infinite or NaN score makes the row's result NaN. scratch holds
// scratch_floats per part: at least the most positions of a row rounded up to a multiple of 16;
// AttentionScratchFloats lets the heads that share a key head be done in one pass over the cells.
struct AttentionArgs {
  static constexpr const char* kOp = "attention";
  const float* q = nullptr;  // [rows, heads, key_dim]
  KvCells k;
  KvCells v;
  const AttentionRow* row = nullptr;  // [rows]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t page_cells = 0;
  float scale = 1.0f;
  float softcap = 0.0f;
  float* scratch = nullptr;
  std::int64_t scratch_floats = 0;
  float* out = nullptr;  // [rows, heads, value_dim]
};

// The scratch of one part that serves rows of up to `positions` positions best.
constexpr std::int64_t AttentionScratchFloats(std::int64_t heads, std::int64_t kv_heads,
                                              std::int64_t positions) {
  constexpr std::int64_t kMostHeads = 16;
  const std::int64_t group = heads / kv_heads;
  return (group < kMostHeads ? group : kMostHeads) * ((positions + 15) / 16 * 16);
}

// silu(x) = x / (1 + exp(-x)); gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
enum class Activation : std::uint8_t { kSilu, kGelu };

// out = act(gate) * up, or act(gate) where up is null.
struct ActivateArgs {
  static constexpr const char* kOp = "activate";
  const float* gate = nullptr;  // [count]
  const float* up = nullptr;    // [count] or null
  float* out = nullptr;         // [count], may be gate or up
  std::int64_t count = 0;
  Activation act = Activation::kSilu;
};

// out = a + b * scale
struct AddArgs {
  static constexpr const char* kOp = "add";
  const float* a = nullptr;
  const float* b = nullptr;
  float* out = nullptr;  // [count], may be a or b
  std::int64_t count = 0;
  float scale = 1.0f;
};

// x = cap * tanh(x * scale / cap), or x * scale where cap is 0; in place.
struct ScaleCapArgs {
  static constexpr const char* kOp = "scale_cap";
  float* x = nullptr;  // [count]
  std::int64_t count = 0;
  float scale = 1.0f;
  float cap = 0.0f;
};

}  // namespace vt
