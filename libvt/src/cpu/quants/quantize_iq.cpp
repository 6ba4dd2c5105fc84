// The codebook formats: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/generic/half.h"
#include "cpu/quants/quantize_codebook.h"
#include "cpu/quants/quantize_formats.h"

namespace vt {
namespace {

using Answer = CodebookSearch::Answer;

void Store16(std::uint8_t* p, unsigned value) {
  p[0] = static_cast<std::uint8_t>(value);
  p[1] = static_cast<std::uint8_t>(value >> 8);
}

void Store32(std::uint8_t* p, std::uint32_t value) { std::memcpy(p, &value, sizeof value); }

// Magnitudes of a block, the signs of each 8 values (bit set: negative), and the largest magnitude
// of each sub-block.
struct Split {
  Split(const float* x, int subs) {
    const int n = 256 / subs;
    for (int i = 0; i < 256; ++i) {
      magnitudes[i] = std::fabs(x[i]);
      signs[i / 8] |= static_cast<unsigned>(x[i] < 0) << (i % 8);
      largest[i / n] = std::max(largest[i / n], magnitudes[i]);
    }
  }
  bool Odd(int group) const { return __builtin_parity(signs[group]) != 0; }

  float magnitudes[256];
  unsigned signs[32] = {};
  float largest[16] = {};
};

// The value of `count` whose change of sign costs least: that of the least product.
template <class Entry>
unsigned LeastProduct(const float* x, Entry entry, int count) {
  std::int8_t values[8] = {};
  std::memcpy(values, &entry, sizeof entry);
  int best = 0;
  for (int i = 1; i < count; ++i) {
    if (x[i] * static_cast<float>(values[i]) < x[best] * static_cast<float>(values[best])) best = i;
  }
  return static_cast<unsigned>(best);
}

// IQ2: units of 8 magnitudes, an entry each. `paired`: an even number of signs.
Answer FindIq2(const Split& split, const CodebookOrder& order, int subs, bool paired) {
  CodebookSearch search({.units = 32, .subs = subs, .parts = 1, .multiples = 16, .step = 0.125f});
  for (int g = 0; g < 32; ++g) {
    search.AddAlternative(g);
    search.AddPart(order, split.magnitudes + 8 * g, paired && split.Odd(g));
  }
  return search.Find(split.largest);
}

template <int kCount>
unsigned PairedSigns(const Split& split, int group, const Codebook<std::uint64_t, kCount>& grid,
                     unsigned entry) {
  if (!split.Odd(group)) return split.signs[group];
  return split.signs[group] ^ 1u << LeastProduct(split.magnitudes + 8 * group, grid[entry], 8);
}

// IQ1: entries of 8 signed values, all shifted up or down.
struct Iq1Orders {
  CodebookOrder up{kIq1Grid, 0.125f}, down{kIq1Grid, -0.125f};
};
const Iq1Orders& OrdersOfIq1() {
  static const Iq1Orders orders;
  return orders;
}

// `groups` of 8 values share a shift: alternative 0 is up, 1 is down.
Answer FindIq1(const float* x, int subs, int groups) {
  const Iq1Orders& orders = OrdersOfIq1();
  const Split split(x, subs);
  CodebookSearch search(
      {.units = 32 / groups, .subs = subs, .parts = groups, .multiples = 8, .step = 1});
  for (int unit = 0; unit < 32 / groups; ++unit) {
    for (const CodebookOrder* order : {&orders.up, &orders.down}) {
      search.AddAlternative(unit);
      for (int g = 0; g < groups; ++g) {
        search.AddPart(*order, x + 8 * (unit * groups + g), false);
      }
    }
  }
  return search.Find(split.largest);
}

}  // namespace

void EncodeIq1S(const float* x, std::uint8_t* block) {
  const Answer a = FindIq1(x, 8, 4);
  Store16(block, F32ToF16(a.d));
  for (std::size_t sub = 0; sub < 8; ++sub) {
    unsigned word = static_cast<unsigned>(a.multiples[sub]) << 12;
    word |= static_cast<unsigned>(a.alternatives[sub]) << 15;
    for (std::size_t g = 0; g < 4; ++g) {
      const unsigned entry = a.entries[4 * sub + g];
      block[2 + 4 * sub + g] = static_cast<std::uint8_t>(entry);
      word |= entry >> 8 << (3 * g);
    }
    Store16(block + 34 + 2 * sub, word);
  }
}

void EncodeIq1M(const float* x, std::uint8_t* block) {
  const Answer a = FindIq1(x, 16, 1);
  std::memset(block + 32, 0, 24);
  for (std::size_t g = 0; g < 32; ++g) {
    block[g] = static_cast<std::uint8_t>(a.entries[g]);
    const int nibble = a.entries[g] >> 8 | a.alternatives[g] << 3;
    block[32 + g / 2] |= static_cast<std::uint8_t>(nibble << g % 2 * 4);
  }
  const unsigned half = F32ToF16(a.d);
  for (std::size_t w = 0; w < 4; ++w) {
    unsigned word = (half >> (4 * w) & 15) << 12;
    for (std::size_t k = 0; k < 4; ++k) {
      word |= static_cast<unsigned>(a.multiples[4 * w + k]) << (3 * k);
    }
    Store16(block + 48 + 2 * w, word);
  }
}

void EncodeIq2Xxs(const float* x, std::uint8_t* block) {
  static const CodebookOrder order(kIq2XxsGrid, 0);
  const Split split(x, 8);
  const Answer a = FindIq2(split, order, 8, true);
  Store16(block, F32ToF16(a.d));
  for (int sub = 0; sub < 8; ++sub) {
    std::uint8_t* q = block + 2 + 8 * sub;
    std::uint32_t word = static_cast<std::uint32_t>(a.multiples[static_cast<std::size_t>(sub)])
                         << 28;
    for (int g = 0; g < 4; ++g) {
      const int at = 4 * sub + g;
      const unsigned entry = a.entries[static_cast<std::size_t>(at)];
      q[g] = static_cast<std::uint8_t>(entry);
      word |= (PairedSigns(split, 4 * sub + g, kIq2XxsGrid, entry) & 127u) << (7 * g);
    }
    Store32(q + 4, word);
  }
}

void EncodeIq2Xs(const float* x, std::uint8_t* block) {
  static const CodebookOrder order(kIq2XsGrid, 0);
  const Split split(x, 16);
  const Answer a = FindIq2(split, order, 16, true);
  Store16(block, F32ToF16(a.d));
  for (int g = 0; g < 32; ++g) {
    const unsigned entry = a.entries[static_cast<std::size_t>(g)];
    Store16(block + 2 + 2 * g, entry | (PairedSigns(split, g, kIq2XsGrid, entry) & 127u) << 9);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    block[66 + i] = static_cast<std::uint8_t>(a.multiples[2 * i] | a.multiples[2 * i + 1] << 4);
  }
}

void EncodeIq2S(const float* x, std::uint8_t* block) {
  static const CodebookOrder order(kIq2SGrid, 0);
  const Split split(x, 16);
  const Answer a = FindIq2(split, order, 16, false);
  Store16(block, F32ToF16(a.d));
  std::memset(block + 66, 0, 8);
  for (std::size_t g = 0; g < 32; ++g) {
    block[2 + g] = static_cast<std::uint8_t>(a.entries[g]);
    block[34 + g] = static_cast<std::uint8_t>(split.signs[g]);
    block[66 + g / 4] |= static_cast<std::uint8_t>(a.entries[g] >> 8 << g % 4 * 2);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    block[74 + i] = static_cast<std::uint8_t>(a.multiples[2 * i] | a.multiples[2 * i + 1] << 4);
  }
}

// Units of 8 values in two entries of 4, an even number of signs: where it is odd, one value of
// either entry changes its sign (alternative 0: of the first).
void EncodeIq3Xxs(const float* x, std::uint8_t* block) {
  static const CodebookOrder order(kIq3XxsGrid, 0);
  const Split split(x, 8);
  CodebookSearch search({.units = 32, .subs = 8, .parts = 2, .multiples = 16, .step = 0.25f});
  for (int g = 0; g < 32; ++g) {
    const float* magnitudes = split.magnitudes + 8 * g;
    const bool odd = split.Odd(g);
    search.AddAlternative(g);
    search.AddPart(order, magnitudes, odd);
    search.AddPart(order, magnitudes + 4, false);
    if (!odd) continue;
    search.AddAlternative(g);
    search.AddPart(order, magnitudes, false);
    search.AddPart(order, magnitudes + 4, true);
  }
  const Answer a = search.Find(split.largest);
  Store16(block, F32ToF16(a.d));
  for (int sub = 0; sub < 8; ++sub) {
    std::uint32_t word = static_cast<std::uint32_t>(a.multiples[static_cast<std::size_t>(sub)])
                         << 28;
    for (int k = 0; k < 4; ++k) {
      const int g = 4 * sub + k;
      const std::uint16_t* entries = a.entries.data() + 2 * g;
      block[2 + 2 * g] = static_cast<std::uint8_t>(entries[0]);
      block[3 + 2 * g] = static_cast<std::uint8_t>(entries[1]);
      unsigned signs = split.signs[g];
      if (split.Odd(g)) {
        const int half = a.alternatives[static_cast<std::size_t>(g)];
        const float* magnitudes = split.magnitudes + 8 * g + 4 * half;
        signs ^= 1u << (LeastProduct(magnitudes, kIq3XxsGrid[entries[half]], 4) +
                        4 * static_cast<unsigned>(half));
      }
      word |= (signs & 127u) << (7 * k);
    }
    Store32(block + 66 + 4 * sub, word);
  }
}

void EncodeIq3S(const float* x, std::uint8_t* block) {
  static const CodebookOrder order(kIq3SGrid, 0);
  const Split split(x, 8);
  CodebookSearch search({.units = 64, .subs = 8, .parts = 1, .multiples = 16, .step = 1});
  for (int g = 0; g < 64; ++g) {
    search.AddAlternative(g);
    search.AddPart(order, split.magnitudes + 4 * g, false);
  }
  const Answer a = search.Find(split.largest);
  Store16(block, F32ToF16(a.d));
  std::memset(block + 66, 0, 8);
  for (std::size_t g = 0; g < 64; ++g) {
    block[2 + g] = static_cast<std::uint8_t>(a.entries[g]);
    block[66 + g / 8] |= static_cast<std::uint8_t>(a.entries[g] >> 8 << g % 8);
  }
  for (std::size_t g = 0; g < 32; ++g) block[74 + g] = static_cast<std::uint8_t>(split.signs[g]);
  for (std::size_t i = 0; i < 4; ++i) {
    block[106 + i] = static_cast<std::uint8_t>(a.multiples[2 * i] | a.multiples[2 * i + 1] << 4);
  }
}

}  // namespace vt
