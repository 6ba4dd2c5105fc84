// Writes a model of random weights: real geometry and types, a working tokenizer, no meaning.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/synth_shape.h"
#include "ops/cases/random_data.h"

namespace vt {

// Any bits in blocks whose scales are such that the decoded values have mean 0, as far as the
// format allows, and standard deviation `sigma`; all finite. FindDequantize(type) must not be null.
class WeightMaker {
 public:
  WeightMaker(DType type, double sigma);
  // Whole blocks: bytes.size() is a multiple of the type's.
  void Fill(RandomData& random, std::vector<std::uint8_t>& bytes) const;

 private:
  void FillBlock(RandomData& random, std::uint8_t* block, float scale) const;
  DType type_;
  float scale_ = 1;
};

struct SynthOptions {
  std::string path;
  std::uint64_t seed = 1;
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};
struct SynthAnswer {
  std::uint64_t bytes = 0;
  std::uint64_t parameters = 0;
};

// A GGUF file of version 3, streamed: no more than a few MiB are in memory at a time. The tokenizer
// is byte-level BPE: the 256 bytes, some merges, begin and end tokens, the rest unused. The same
// model and seed give the same bytes. Written whole or not at all. kInvalid: a type that weights
// cannot have, a vocabulary of fewer than 258; kNoMemory: the disk has not the room; kInterrupted.
Result<SynthAnswer> WriteSynth(const SynthModel& model, const SynthOptions& options);

}  // namespace vt
