// The codebooks of the IQ block formats: each entry is a small group of weights, a byte each, first
// value in the lowest byte. IQ1 entries are signed (-1, 0, 1), the others magnitudes.
//
// The entries are data of the formats (ggml's iq*_grid tables). The sources hold them as packed
// level numbers, which are spread to bytes when compiled.
#pragma once

#include <cstdint>

namespace vt {

template <class Entry, int kCount>
struct Codebook {
  // `packed` entries hold level numbers of `bits` bits.
  consteval Codebook(const std::uint16_t (&packed)[kCount], int bits,
                     const std::uint8_t (&levels)[8])
      : entries{} {
    for (int e = 0; e < kCount; ++e) {
      for (unsigned i = 0; i < sizeof(Entry); ++i) {
        const unsigned level =
            (packed[e] >> (static_cast<unsigned>(bits) * i)) & ((1u << bits) - 1);
        entries[e] |= static_cast<Entry>(levels[level]) << (8 * i);
      }
    }
  }
  Entry operator[](unsigned index) const { return entries[index]; }

  Entry entries[kCount];
};

extern const Codebook<std::uint64_t, 2048> kIq1Grid;  // IQ1_S, IQ1_M
extern const Codebook<std::uint64_t, 256> kIq2XxsGrid;
extern const Codebook<std::uint64_t, 512> kIq2XsGrid;
extern const Codebook<std::uint64_t, 1024> kIq2SGrid;
extern const Codebook<std::uint32_t, 256> kIq3XxsGrid;
extern const Codebook<std::uint32_t, 512> kIq3SGrid;

}  // namespace vt
