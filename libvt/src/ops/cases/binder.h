// Gives the pointers of an op's arguments their memory: what OpFacts::bind says, op by op.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/cases/bound_call.h"
#include "ops/cases/random_data.h"

namespace vt {

// After the first error every call gives null; look at status() at the end.
class Binder {
 public:
  Binder(BoundCall& call, std::uint64_t seed, int parts)
      : call_(call), random_(seed), parts_(parts) {}

  const Status& status() const { return status_; }
  int parts() const { return parts_; }
  RandomData& random() { return random_; }

  // Inputs. The largest size of values given so far goes to `largest`, when asked for.
  const float* Floats(const char* name, std::int64_t count, float low = -1, float high = 1);
  template <class T>
  const T* Values(const char* name, std::span<const T> values) {
    return static_cast<const T*>(
        Add(name, BoundCall::Buffer::Use::kInput, CallOutput::Kind::kBytes, Bytes(values)));
  }
  // Numbers in [0, below).
  const std::int32_t* Ids(const char* name, std::int64_t count, std::int64_t below);
  void FillWeight(const char* name, Weight& w);  // its data and scales
  Q15Rows Quantised(std::int64_t rows, std::int64_t cols);

  float* Output(const char* name, std::int64_t count);
  void* OutputBytes(const char* name, std::int64_t bytes);
  AttentionRow* OutputRows(const char* name, std::int64_t count);
  float* Changed(const char* name, std::int64_t count);  // input and output
  // Two buffers, or one that is both.
  void InAndOut(const float*& in, float*& out, std::int64_t count, bool in_place, float low = -1,
                float high = 1);
  float* Scratch(std::int64_t floats);
  void* Cells(const char* name, const KvCells& cells, std::int64_t count, std::int64_t values);

  // Largest size of the values of the last weight, as decoded.
  double largest_weight() const { return largest_weight_; }
  void Rounding(std::int64_t length, double scale);

 private:
  using Use = BoundCall::Buffer::Use;
  template <class T>
  static std::vector<std::uint8_t> Bytes(std::span<const T> values) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(values.data());
    return {data, data + values.size_bytes()};
  }
  void* Add(const char* name, Use use, CallOutput::Kind kind, std::vector<std::uint8_t> image);
  std::vector<float> Uniform(std::int64_t count, float low, float high);

  BoundCall& call_;
  RandomData random_;
  int parts_;
  Status status_;
  double largest_weight_ = 0;
};

// What several bindings count by; a size below zero, of a case that is refused, is none.
inline std::size_t SizeOf(std::int64_t n) { return static_cast<std::size_t>(n > 0 ? n : 0); }

// Floats from the first of `rows` strided rows to the end of the last.
inline std::int64_t Extent(std::int64_t rows, std::int64_t row, std::int64_t stride) {
  return rows == 0 ? 0 : (rows - 1) * (stride == 0 ? row : stride) + row;
}

// A size of sums of so many terms of random sign.
inline double SumScale(std::int64_t length, double largest_term) {
  return std::sqrt(static_cast<double>(length)) * largest_term;
}

inline std::int64_t CellBytes(DType type, std::int64_t values) {
  const std::int64_t block = InfoOf(type).block;
  return (values + block - 1) / block * InfoOf(type).block_bytes;
}

}  // namespace vt
