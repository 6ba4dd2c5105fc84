// How much work a call of an op is, whatever the device: what it must read and write, and how many
// operations it takes.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/registry.h"

namespace vt {

struct OpWork {
  // Of matrices, what is read of them: of experts those that rows chose, of tables the rows that
  // are looked up.
  double weight_bytes = 0;
  double cell_bytes = 0;             // of the KV cache or a recurrent state, read and written
  double activation_bytes = 0;       // everything else, read and written
  double operations = 0;             // products and sums; of functions such as exp an estimate
  std::optional<DType> weight = {};  // the type of the matrix, where there is one
  std::int64_t rows = 1;             // of activations that share what is read of the matrix
  std::int64_t cols = 0;             // of the matrix: values that an output is the sum of
};

// What a product takes and gives: the values that cross where it runs away from its part.
struct OperandBytes {
  double in = 0;
  double out = 0;
};
OperandBytes OperandsOf(const AnyArgs& call);

// `positions`: that each row of an attention or an indexer reads.
OpWork WorkOf(const AnyArgs& call, double positions);

}  // namespace vt
