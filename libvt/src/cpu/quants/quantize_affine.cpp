// Formats of a scale times a code less a minimum, neither negative: Q2_K, Q4_K, Q5_K.
//
// A sub-block's scale and minimum are found by spreading its values over many a range of codes in
// turn and fitting both to the codes that follow. The block's two f16 are those of which the
// sub-blocks' are nearest to whole multiples; multiples and f16 are improved by turns.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/generic/quant_bits.h"
#include "cpu/quants/quantize_formats.h"
#include "cpu/quants/quantize_scales.h"

namespace vt {
namespace {

struct Fit {
  double scale = 0, min = 0;  // x = scale * code - min
  double squares = 0;         // of the codes
  double error = std::numeric_limits<double>::infinity();
};

int CodeOf(float value, int top) {
  return static_cast<int>(RoundSmall(std::clamp(value, 0.0f, static_cast<float>(top))));
}

// The best scale and minimum for the codes that (x + min) * inverse gives.
Fit FitCodes(const float* x, int n, int top, float inverse, float min) {
  double codes = 0, squares = 0, cross = 0, sum = 0, all = 0;
  for (int i = 0; i < n; ++i) {
    const int code = CodeOf((x[i] + min) * inverse, top);
    codes += code;
    squares += code * code;
    cross += double{x[i]} * code;
    sum += double{x[i]};
    all += double{x[i]} * double{x[i]};
  }
  Fit fit;
  fit.squares = squares;
  const double determinant = n * squares - codes * codes;
  if (determinant > 0) {
    fit.scale = (n * cross - codes * sum) / determinant;
    fit.min = (codes * cross - squares * sum) / determinant;
  } else {
    fit.min = -sum / n;
  }
  if (fit.min < 0) {
    fit.min = 0;
    fit.scale = squares > 0 ? cross / squares : 0;
  }
  if (fit.scale < 0) {
    fit.scale = 0;
    fit.min = std::max(0.0, -sum / n);
  }
  fit.error = all - 2 * fit.scale * cross + 2 * fit.min * sum + fit.scale * fit.scale * squares -
              2 * fit.scale * fit.min * codes + n * fit.min * fit.min;
  return fit;
}

Fit FitSub(const float* x, int n, int top) {
  float low = 0, high = x[0], lowest = x[0];
  for (int i = 0; i < n; ++i) {
    low = std::min(low, x[i]);
    lowest = std::min(lowest, x[i]);
    high = std::max(high, x[i]);
  }
  const float range = high - low;
  Fit best = FitCodes(x, n, top, 0, 0);
  if (range <= 0 || lowest == high) {
    // One value: a minimum alone, or the largest code alone.
    return high > 0 ? Fit{double{high} / top, 0, double{1.0 * n * top * top}, 0} : best;
  }
  const auto attempt = [&](float inverse, float min) {
    if (!std::isfinite(inverse)) return;
    const Fit fit = FitCodes(x, n, top, inverse, min);
    if (fit.error < best.error) best = fit;
  };
  constexpr float kStep = 0.25f;
  const int reach = top / 4 + 2;
  const int fine = static_cast<int>(static_cast<float>(reach) / kStep);
  for (int i = -fine; i <= 6; ++i) {
    const float span = static_cast<float>(top) + kStep * static_cast<float>(i);
    if (span > 0) attempt(span / range, -low);
  }
  // Fewer codes, so that values that lie on few codes are found again.
  for (int span = 1; span < top - top / 4; ++span) {
    attempt(static_cast<float>(span) / range, -low);
  }
  for (int round = 0; round < 4; ++round) {
    if (best.scale <= 0) break;
    const double before = best.error;
    attempt(static_cast<float>(1 / best.scale), static_cast<float>(best.min));
    if (best.error >= before) break;
  }
  return best;
}

// Sums over a block for the two f16 of least error; see Solve.
struct Normal {
  double ss = 0, sm = 0, mm = 0, sx = 0, mx = 0;
};

struct Affine {
  float d = 0, dmin = 0;
  int scales[16] = {}, mins[16] = {};
  double error = std::numeric_limits<double>::infinity();
  Normal normal;
};

double ErrorAt(const float* x, int n, int top, float scale, float min, double sums[3]) {
  const float inverse = scale > 0 ? 1 / scale : 0.0f;
  const float usable = std::isfinite(inverse) ? inverse : 0.0f;
  double error = 0;
  sums[0] = sums[1] = sums[2] = 0;
  for (int i = 0; i < n; ++i) {
    const int code = CodeOf((x[i] + min) * usable, top);
    const double off = double{x[i]} - double{scale * static_cast<float>(code) - min};
    error += off * off;
    sums[0] += code;
    sums[1] += code * code;
    sums[2] += double{x[i]} * code;
  }
  return error;
}

Affine AffineAt(const float* x, int subs, int top, const Fit* fits, int largest, float d,
                float dmin) {
  const int n = 256 / subs;
  Affine result;
  result.d = d;
  result.dmin = dmin;
  result.error = 0;
  for (int sub = 0; sub < subs; ++sub, x += n) {
    const int scale = Multiple(fits[sub].scale, d, 0, largest);
    const int min = Multiple(fits[sub].min, dmin, 0, largest);
    double least = std::numeric_limits<double>::infinity(), chosen[3] = {}, sums[3];
    for (int s = std::max(0, scale - 1); s <= std::min(largest, scale + 1); ++s) {
      for (int m = std::max(0, min - 1); m <= std::min(largest, min + 1); ++m) {
        const double error =
            ErrorAt(x, n, top, d * static_cast<float>(s), dmin * static_cast<float>(m), sums);
        if (error >= least) continue;
        least = error;
        result.scales[sub] = s;
        result.mins[sub] = m;
        std::copy(sums, sums + 3, chosen);
      }
    }
    result.error += least;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double{x[i]};
    const double s = result.scales[sub], m = result.mins[sub];
    Normal& normal = result.normal;
    normal.ss += s * s * chosen[1];
    normal.sm += s * m * chosen[0];
    normal.mm += m * m * n;
    normal.sx += s * chosen[2];
    normal.mx += m * sum;
  }
  return result;
}

float Half(double value) { return F16ToF32(F32ToF16(static_cast<float>(value))); }

// Minimises |x - d s q + dmin m|^2 over d and dmin.
bool Solve(const Normal& normal, float* d, float* dmin) {
  const double determinant = normal.ss * normal.mm - normal.sm * normal.sm;
  double scale, min = 0;
  if (determinant > 1e-9 * normal.ss * normal.mm) {
    scale = (normal.mm * normal.sx - normal.sm * normal.mx) / determinant;
    min = (normal.sm * normal.sx - normal.ss * normal.mx) / determinant;
  } else {
    if (normal.ss <= 0) return false;
    scale = normal.sx / normal.ss;
  }
  if (!(scale > 0) || min < 0) return false;
  *d = Half(scale);
  *dmin = Half(min);
  return std::isfinite(*d) && std::isfinite(*dmin);
}

Affine FitAffine(const float* x, int subs, int top, int largest) {
  const int n = 256 / subs;
  Fit fits[16];
  SubScale scales[16], mins[16];
  for (int sub = 0; sub < subs; ++sub) {
    fits[sub] = FitSub(x + sub * n, n, top);
    scales[sub] = {fits[sub].scale, fits[sub].squares};
    mins[sub] = {fits[sub].min, static_cast<double>(n)};
  }
  const auto at = [&](float d, float dmin) {
    return AffineAt(x, subs, top, fits, largest, d, dmin);
  };
  Affine best = at(CommonScale(scales, subs, 0, largest), CommonScale(mins, subs, 0, largest));
  for (int round = 0; round < 3; ++round) {
    float d, dmin;
    if (!Solve(best.normal, &d, &dmin) || (d == best.d && dmin == best.dmin)) break;
    const Affine next = at(d, dmin);
    if (next.error >= best.error) break;
    best = next;
  }
  return best;
}

void CodesOf(const float* x, const Affine& fit, int subs, int top, int codes[256]) {
  const int n = 256 / subs;
  for (int i = 0; i < 256; ++i) {
    const int sub = i / n;
    const float scale = fit.d * static_cast<float>(fit.scales[sub]);
    const float min = fit.dmin * static_cast<float>(fit.mins[sub]);
    const float inverse = scale > 0 ? 1 / scale : 0.0f;
    codes[i] = CodeOf((x[i] + min) * (std::isfinite(inverse) ? inverse : 0.0f), top);
  }
}

void StoreHalf(std::uint8_t* p, float value) {
  const std::uint16_t half = F32ToF16(value);
  std::memcpy(p, &half, sizeof half);
}

// The inverse of UnpackScalesK4.
void PackScalesK4(const int scales[8], const int mins[8], std::uint8_t* p) {
  for (int i = 0; i < 4; ++i) {
    p[i] = static_cast<std::uint8_t>(scales[i] | scales[i + 4] >> 4 << 6);
    p[i + 4] = static_cast<std::uint8_t>(mins[i] | mins[i + 4] >> 4 << 6);
    p[i + 8] = static_cast<std::uint8_t>((scales[i + 4] & 15) | (mins[i + 4] & 15) << 4);
  }
}

void StoreNibblesK(const int codes[256], std::uint8_t* p) {
  for (int i = 0; i < 128; ++i) {
    const int* low = codes + i / 32 * 64 + i % 32;
    p[i] = static_cast<std::uint8_t>((low[0] & 15) | (low[32] & 15) << 4);
  }
}

}  // namespace

void EncodeQ2K(const float* x, std::uint8_t* block) {
  const Affine fit = FitAffine(x, 16, 3, 15);
  int codes[256];
  CodesOf(x, fit, 16, 3, codes);
  for (int sub = 0; sub < 16; ++sub) {
    block[sub] = static_cast<std::uint8_t>(fit.scales[sub] | fit.mins[sub] << 4);
  }
  for (int i = 0; i < 64; ++i) {
    const int* c = codes + i / 32 * 128 + i % 32;
    block[16 + i] = static_cast<std::uint8_t>(c[0] | c[32] << 2 | c[64] << 4 | c[96] << 6);
  }
  StoreHalf(block + 80, fit.d);
  StoreHalf(block + 82, fit.dmin);
}

void EncodeQ4K(const float* x, std::uint8_t* block) {
  const Affine fit = FitAffine(x, 8, 15, 63);
  int codes[256];
  CodesOf(x, fit, 8, 15, codes);
  StoreHalf(block, fit.d);
  StoreHalf(block + 2, fit.dmin);
  PackScalesK4(fit.scales, fit.mins, block + 4);
  StoreNibblesK(codes, block + 16);
}

void EncodeQ5K(const float* x, std::uint8_t* block) {
  const Affine fit = FitAffine(x, 8, 31, 63);
  int codes[256];
  CodesOf(x, fit, 8, 31, codes);
  StoreHalf(block, fit.d);
  StoreHalf(block + 2, fit.dmin);
  PackScalesK4(fit.scales, fit.mins, block + 4);
  std::memset(block + 16, 0, 32);
  for (int i = 0; i < 256; ++i) {
    block[16 + i % 32] |= static_cast<std::uint8_t>((codes[i] >> 4) << i / 32);
  }
  StoreNibblesK(codes, block + 48);
}

}  // namespace vt
