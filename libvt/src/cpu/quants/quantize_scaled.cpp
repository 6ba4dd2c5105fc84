// Formats of a scale times a level: Q2_0, Q3_K, Q6_K, IQ4_NL, IQ4_XS, NVFP4.
//
// A sub-block's scale is found by giving its largest value the place of many a level in turn, and
// fitting the scale to the codes that follow. A block's scale is then that of which the sub-blocks'
// are nearest to whole multiples; multiples and block scale are improved by turns.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/generic/quant_bits.h"
#include "cpu/quants/quantize_formats.h"
#include "cpu/quants/quantize_scales.h"

namespace vt {
namespace {

// The levels of a format; a code is a number of a level.
class Levels {
 public:
  constexpr Levels(int low, int high) : low_(low), count_(high - low + 1) {}
  explicit constexpr Levels(const std::int8_t (&table)[16])
      : table_(table), low_(table[0]), count_(16) {}

  int lowest() const { return low_; }
  int highest() const { return Value(count_ - 1); }
  int Value(int code) const { return table_ ? table_[code] : low_ + code; }
  int Nearest(float value) const {
    if (!table_) {
      const float end = static_cast<float>(low_ + count_ - 1);
      return static_cast<int>(RoundSmall(std::clamp(value, static_cast<float>(low_), end))) - low_;
    }
    int code = 0;
    for (int i = 0; i + 1 < 16; ++i) {
      code += 2 * value > static_cast<float>(table_[i] + table_[i + 1]);
    }
    return code;
  }

 private:
  const std::int8_t* table_ = nullptr;
  int low_, count_;
};

constexpr Levels kQ2Levels(-1, 2);
constexpr Levels kQ3Levels(-4, 3);
constexpr Levels kQ6Levels(-32, 31);
constexpr Levels kIq4Levels(kIq4Values);

// Sums of a fit: the scale of least error is cross / squares, its error all - cross^2 / squares.
struct Sums {
  double cross = 0, squares = 0;
  double Gain() const { return squares > 0 ? cross * cross / squares : 0; }
  double Scale() const { return squares > 0 ? cross / squares : 0; }
};

Sums SumsAt(const float* x, int n, const Levels& levels, double scale) {
  const float inverse = static_cast<float>(1 / scale);
  Sums sums;
  if (!std::isfinite(inverse)) return sums;
  for (int i = 0; i < n; ++i) {
    const int level = levels.Value(levels.Nearest(x[i] * inverse));
    sums.cross += double{x[i]} * level;
    sums.squares += level * level;
  }
  return sums;
}

// `reach`: how far past the end levels the largest value may be put.
SubScale FitScale(const float* x, int n, const Levels& levels, double reach) {
  float extreme = 0;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  Sums best;
  const auto attempt = [&](double place) {
    if (place == 0) return;
    const Sums sums = SumsAt(x, n, levels, double{extreme} / place);
    if (sums.Gain() > best.Gain()) best = sums;
  };
  if (extreme == 0) return {};
  constexpr int kSteps = 12;
  for (const int end : {levels.lowest(), levels.highest()}) {
    for (int i = 0; i <= kSteps; ++i) attempt(end * (0.7 + (reach - 0.7) * i / kSteps));
  }
  // A level itself, so that values that lie on levels are found again.
  const int largest = std::max(-levels.lowest(), levels.highest());
  for (int code = 0;; ++code) {
    const int level = levels.Value(code);
    if (5 * std::abs(level) >= 2 * largest) attempt(level);
    if (level == levels.highest()) break;
  }
  for (int round = 0; round < 3; ++round) {
    if (best.squares == 0 || best.Scale() == 0) break;
    const Sums sums = SumsAt(x, n, levels, best.Scale());
    if (sums.Gain() <= best.Gain()) break;
    best = sums;
  }
  return {best.Scale(), best.squares};
}

// The squared error of nearest levels under a given scale, as the decoder multiplies.
double ErrorAt(const float* x, int n, const Levels& levels, float scale, Sums* sums) {
  const float inverse = scale == 0 ? 0.0f : 1 / scale;
  const float usable = std::isfinite(inverse) ? inverse : 0.0f;
  double error = 0;
  for (int i = 0; i < n; ++i) {
    const int level = levels.Value(levels.Nearest(x[i] * usable));
    const double off = double{x[i]} - double{scale * static_cast<float>(level)};
    error += off * off;
    sums->cross += double{x[i]} * level;
    sums->squares += level * level;
  }
  return error;
}

struct Scaled {
  float d = 0;
  int multiples[16] = {};
  double error = std::numeric_limits<double>::infinity();
  double next_d = 0;  // of least error for these codes
};

// The best multiples, next to those given, of a block scale.
Scaled ScaledAt(const float* x, int subs, const Levels& levels, const SubScale* fits, float d,
                int low, int high) {
  const int n = 256 / subs;
  Scaled result;
  result.d = d;
  result.error = 0;
  Sums all;
  for (int sub = 0; sub < subs; ++sub, x += n) {
    const int middle = Multiple(fits[sub].scale, d, low, high);
    double least = std::numeric_limits<double>::infinity();
    Sums chosen;
    for (int multiple = std::max(low, middle - 1); multiple <= std::min(high, middle + 1);
         ++multiple) {
      Sums sums;
      const double error = ErrorAt(x, n, levels, d * static_cast<float>(multiple), &sums);
      if (error >= least) continue;
      least = error;
      result.multiples[sub] = multiple;
      chosen = {sums.cross * multiple, sums.squares * multiple * multiple};
    }
    result.error += least;
    all.cross += chosen.cross;
    all.squares += chosen.squares;
  }
  result.next_d = all.Scale();
  return result;
}

float Half(double value) { return F16ToF32(F32ToF16(static_cast<float>(value))); }

Scaled FitScaled(const float* x, int subs, const Levels& levels, double reach, int low, int high) {
  const int n = 256 / subs;
  SubScale fits[16];
  for (int sub = 0; sub < subs; ++sub) fits[sub] = FitScale(x + sub * n, n, levels, reach);
  const auto at = [&](float d) { return ScaledAt(x, subs, levels, fits, d, low, high); };
  Scaled best = at(CommonScale(fits, subs, low, high));
  for (int round = 0; round < 3; ++round) {
    const float d = Half(best.next_d);
    if (d == best.d || !std::isfinite(d)) break;
    const Scaled next = at(d);
    if (next.error >= best.error) break;
    best = next;
  }
  return best;
}

void CodesAt(const float* x, int n, const Levels& levels, float scale, int* codes) {
  const float inverse = scale == 0 ? 0.0f : 1 / scale;
  const float usable = std::isfinite(inverse) ? inverse : 0.0f;
  for (int i = 0; i < n; ++i) codes[i] = levels.Nearest(x[i] * usable);
}

void CodesOf(const float* x, const Scaled& fit, int subs, const Levels& levels, int codes[256]) {
  const int n = 256 / subs;
  for (int sub = 0; sub < subs; ++sub) {
    CodesAt(x + sub * n, n, levels, fit.d * static_cast<float>(fit.multiples[sub]),
            codes + sub * n);
  }
}

void StoreHalf(std::uint8_t* p, float value) {
  const std::uint16_t half = F32ToF16(value);
  std::memcpy(p, &half, sizeof half);
}

void StoreNibbles(const int codes[32], std::uint8_t* p) {
  for (int i = 0; i < 16; ++i) {
    p[i] = static_cast<std::uint8_t>(codes[i] | codes[i + 16] << 4);
  }
}

// How good the E4M3 scale `code` is for 16 values, and their E2M1 codes.
double Nvfp4Error(const float* x, int code, int codes[16]) {
  const float scale = F8E4M3ToF32(static_cast<std::uint8_t>(code)) * 0.5f;
  double error = 0;
  for (int i = 0; i < 16; ++i) {
    const float magnitude = std::fabs(x[i]);
    float least = magnitude;
    codes[i] = 0;
    for (int level = 1; level < 8; ++level) {
      const float off = std::fabs(magnitude - static_cast<float>(kFp4Values[level]) * scale);
      if (off >= least) continue;
      least = off;
      codes[i] = level | (x[i] < 0 ? 8 : 0);
    }
    error += double{least} * least;
  }
  return error;
}

}  // namespace

void EncodeQ2_0(const float* x, std::uint8_t* block) {
  const float d = Half(FitScale(x, 64, kQ2Levels, 3).scale);
  StoreHalf(block, d);
  int codes[64];
  CodesAt(x, 64, kQ2Levels, d, codes);
  for (int i = 0; i < 16; ++i) {
    const int* c = codes + 4 * i;
    block[2 + i] = static_cast<std::uint8_t>(c[0] | c[1] << 2 | c[2] << 4 | c[3] << 6);
  }
}

void EncodeQ3K(const float* x, std::uint8_t* block) {
  const Scaled fit = FitScaled(x, 16, kQ3Levels, 1.4, -32, 31);
  int codes[256];
  CodesOf(x, fit, 16, kQ3Levels, codes);
  std::memset(block, 0, 108);
  StoreHalf(block + 108, fit.d);
  for (int i = 0; i < 256; ++i) {
    block[i % 32] |= static_cast<std::uint8_t>((codes[i] >> 2) << i / 32);
    block[32 + i / 128 * 32 + i % 32] |=
        static_cast<std::uint8_t>((codes[i] & 3) << i % 128 / 32 * 2);
  }
  std::uint8_t* scales = block + 96;
  for (int sub = 0; sub < 16; ++sub) {
    const int stored = fit.multiples[sub] + 32;
    scales[sub % 8] |= static_cast<std::uint8_t>((stored & 15) << sub / 8 * 4);
    scales[8 + sub % 4] |= static_cast<std::uint8_t>((stored >> 4) << sub / 4 * 2);
  }
}

void EncodeQ6K(const float* x, std::uint8_t* block) {
  const Scaled fit = FitScaled(x, 16, kQ6Levels, 1.1, -128, 127);
  int codes[256];
  CodesOf(x, fit, 16, kQ6Levels, codes);
  std::memset(block, 0, 192);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, in_half = i % 128;
    block[half * 64 + in_half % 64] |=
        static_cast<std::uint8_t>((codes[i] & 15) << in_half / 64 * 4);
    block[128 + half * 32 + in_half % 32] |=
        static_cast<std::uint8_t>((codes[i] >> 4) << in_half / 32 * 2);
  }
  for (int sub = 0; sub < 16; ++sub) {
    block[192 + sub] = static_cast<std::uint8_t>(fit.multiples[sub]);
  }
  StoreHalf(block + 208, fit.d);
}

void EncodeIq4Nl(const float* x, std::uint8_t* block) {
  const float d = Half(FitScale(x, 32, kIq4Levels, 1.15).scale);
  StoreHalf(block, d);
  int codes[32];
  CodesAt(x, 32, kIq4Levels, d, codes);
  StoreNibbles(codes, block + 2);
}

void EncodeIq4Xs(const float* x, std::uint8_t* block) {
  const Scaled fit = FitScaled(x, 8, kIq4Levels, 1.15, -32, 31);
  int codes[256];
  CodesOf(x, fit, 8, kIq4Levels, codes);
  std::memset(block, 0, 8);
  StoreHalf(block, fit.d);
  unsigned high = 0;
  for (int sub = 0; sub < 8; ++sub) {
    const int stored = fit.multiples[sub] + 32;
    high |= static_cast<unsigned>(stored >> 4) << (2 * sub);
    block[4 + sub / 2] |= static_cast<std::uint8_t>((stored & 15) << sub % 2 * 4);
    StoreNibbles(codes + 32 * sub, block + 8 + 16 * sub);
  }
  block[2] = static_cast<std::uint8_t>(high);
  block[3] = static_cast<std::uint8_t>(high >> 8);
}

// Scales up to an octave from the one that makes the largest magnitude the largest number.
void EncodeNvfp4(const float* x, std::uint8_t* block) {
  constexpr int kOctave = 8, kLargest = 0x7e;
  for (int run = 0; run < 4; ++run, x += 16) {
    float largest = 0;
    for (int i = 0; i < 16; ++i) largest = std::max(largest, std::fabs(x[i]));
    std::uint8_t middle;
    const float scale = largest / 6;
    EncodeF8E4M3(&scale, &middle);
    int best = 0, codes[16];
    double least = std::numeric_limits<double>::infinity();
    for (int code = std::max(0, middle - kOctave); code <= std::min(kLargest, middle + kOctave);
         ++code) {
      const double error = Nvfp4Error(x, code, codes);
      if (error >= least) continue;
      least = error;
      best = code;
    }
    Nvfp4Error(x, best, codes);
    block[run] = static_cast<std::uint8_t>(best);
    for (int i = 0; i < 8; ++i) {
      block[4 + 8 * run + i] = static_cast<std::uint8_t>(codes[i] | codes[i + 8] << 4);
    }
  }
}

}  // namespace vt
