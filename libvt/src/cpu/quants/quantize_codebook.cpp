#include "cpu/quants/quantize_codebook.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "cpu/generic/half.h"
#include "cpu/quants/quantize_scales.h"

namespace vt {

CodebookOrder::CodebookOrder(const void* entries, std::size_t width, int count, float shift)
    : width_(static_cast<int>(width)) {
  const auto* bytes = static_cast<const std::int8_t*>(entries);
  const auto value = [&](std::size_t entry, std::size_t i) {
    return static_cast<float>(bytes[entry * width + i]) + shift;
  };
  const auto total = static_cast<std::size_t>(count);
  std::vector<float> norms(total, 0.0f);
  for (std::size_t e = 0; e < total; ++e) {
    for (std::size_t i = 0; i < width; ++i) {
      norms[e] += value(e, i) * value(e, i);
      largest_ = std::max(largest_, std::fabs(value(e, i)));
      least_ = std::min(least_, std::fabs(value(e, i)));
    }
  }
  entries_.resize(total);
  std::iota(entries_.begin(), entries_.end(), std::uint16_t{0});
  std::stable_sort(entries_.begin(), entries_.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return norms[a] < norms[b]; });
  for (int place = 0; place < count; ++place) {
    const float norm = norms[entries_[static_cast<std::size_t>(place)]];
    if (classes_.empty() || classes_.back().norm != norm) classes_.push_back({norm, place, place});
    classes_.back().end = place + 1;
  }
  for (std::size_t i = 0; i < width; ++i) {
    for (const std::uint16_t e : entries_) columns_.push_back(value(e, i));
  }
}

void CodebookOrder::Products(const float* x, bool flip, float* out) const {
  const std::size_t total = entries_.size();
  std::fill(out, out + total, 0.0f);
  for (std::size_t i = 0; i < static_cast<std::size_t>(width_); ++i) {
    const float* column = columns_.data() + i * total;
    for (std::size_t e = 0; e < total; ++e) out[e] += x[i] * column[e];
  }
  if (!flip) return;
  std::vector<float> least(total, std::numeric_limits<float>::max());
  for (std::size_t i = 0; i < static_cast<std::size_t>(width_); ++i) {
    const float* column = columns_.data() + i * total;
    for (std::size_t e = 0; e < total; ++e) {
      const float product = x[i] * column[e];
      least[e] = product < least[e] ? product : least[e];
    }
  }
  for (std::size_t e = 0; e < total; ++e) out[e] -= 2 * least[e];
}

void CodebookSearch::AddAlternative(int unit) {
  if (unit == units_) first_alternative_[static_cast<std::size_t>(units_++)] = alternatives_;
  first_alternative_[static_cast<std::size_t>(units_)] = ++alternatives_;
}

float CodebookSearch::Largest(const float* begin, const float* end) {
  float lanes[4] = {*begin, *begin, *begin, *begin};
  for (; end - begin >= 4; begin += 4) {
    for (int i = 0; i < 4; ++i) lanes[i] = begin[i] > lanes[i] ? begin[i] : lanes[i];
  }
  for (; begin < end; ++begin) lanes[0] = *begin > lanes[0] ? *begin : lanes[0];
  return std::max(std::max(lanes[0], lanes[1]), std::max(lanes[2], lanes[3]));
}

void CodebookSearch::AddPart(const CodebookOrder& order, const float* x, bool flip) {
  std::array<float, 2048> products;
  order.Products(x, flip, products.data());
  values_largest_ = order.largest();
  values_least_ = order.least();
  const auto begin = lines_.size();
  // Upper hull of product over norm, from the least norm on, as far as products rise. An entry
  // number stands for its class until the hull is there.
  const std::vector<CodebookOrder::Class>& classes = order.classes();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const Line line{classes[c].norm,
                    Largest(products.data() + classes[c].begin, products.data() + classes[c].end),
                    static_cast<std::uint16_t>(c)};
    if (lines_.size() > begin && line.product <= lines_.back().product) continue;
    while (lines_.size() >= begin + 2) {
      const Line &low = lines_[lines_.size() - 2], &middle = lines_.back();
      if ((middle.product - low.product) * (line.norm - low.norm) >
          (line.product - low.product) * (middle.norm - low.norm)) {
        break;
      }
      lines_.pop_back();
    }
    lines_.push_back(line);
  }
  for (std::size_t i = begin; i < lines_.size(); ++i) {
    const CodebookOrder::Class& of = classes[lines_[i].entry];
    const float* found =
        std::find(products.data() + of.begin, products.data() + of.end - 1, lines_[i].product);
    lines_[i].entry = order.entry(static_cast<int>(found - products.data()));
  }
  parts_.push_back({static_cast<int>(begin), static_cast<int>(lines_.size())});
}

// The line of least scale * norm - 2 product, which first falls and then rises along the hull.
const CodebookSearch::Line& CodebookSearch::LineAt(int part, float scale, float* value) const {
  const auto [begin, end] = parts_[static_cast<std::size_t>(part)];
  const Line* line = lines_.data() + begin;
  *value = scale * line->norm - 2 * line->product;
  for (const Line* next = line + 1; next < lines_.data() + end; ++next) {
    const float at = scale * next->norm - 2 * next->product;
    if (at >= *value) break;
    *value = at;
    line = next;
  }
  return *line;
}

CodebookSearch::Sums CodebookSearch::At(int sub, float scale, Answer* answer) const {
  const int units = format_.units / format_.subs;
  Sums sums;
  for (int unit = sub * units; unit < (sub + 1) * units; ++unit) {
    const auto u = static_cast<std::size_t>(unit);
    float least = std::numeric_limits<float>::max();
    double squares = 0, cross = 0;
    for (int alternative = first_alternative_[u]; alternative < first_alternative_[u + 1];
         ++alternative) {
      float error = 0;
      const Line* lines[4] = {};
      for (int part = 0; part < format_.parts; ++part) {
        float value;
        lines[part] = &LineAt(alternative * format_.parts + part, scale, &value);
        error += value;
      }
      if (error >= least) continue;
      least = error;
      squares = cross = 0;
      for (int part = 0; part < format_.parts; ++part) {
        squares += double{lines[part]->norm};
        cross += double{lines[part]->product};
        if (answer) {
          answer->entries[u * static_cast<std::size_t>(format_.parts) +
                          static_cast<std::size_t>(part)] = lines[part]->entry;
        }
      }
      if (answer) answer->alternatives[u] = alternative - first_alternative_[u];
    }
    sums.squares += squares;
    sums.cross += cross;
  }
  sums.error = double{scale} * (double{scale} * sums.squares - 2 * sums.cross);
  return sums;
}

struct CodebookSearch::Fit {
  double error = 0;
  double next_d = 0;
};

// For a block scale, the better of the two multiples around each sub-block's own scale.
CodebookSearch::Fit CodebookSearch::FitBlock(const double* scales, float d, Answer* answer) const {
  Fit fit;
  answer->d = d;
  double squares = 0, cross = 0;
  const auto scale_of = [&](int n) { return d * format_.step * static_cast<float>(2 * n + 1); };
  for (int sub = 0; sub < format_.subs; ++sub) {
    const double place = (scales[sub] / static_cast<double>(d * format_.step) - 1) / 2;
    const int below = static_cast<int>(
        std::clamp(std::floor(place), 0.0, static_cast<double>(format_.multiples - 1)));
    const int above = std::min(below + 1, format_.multiples - 1);
    const Sums low = At(sub, scale_of(below), nullptr), high = At(sub, scale_of(above), nullptr);
    const int n = high.error < low.error ? above : below;
    const Sums& chosen = high.error < low.error ? high : low;
    answer->multiples[static_cast<std::size_t>(sub)] = n;
    const double factor = static_cast<double>(format_.step) * (2 * n + 1);
    fit.error += chosen.error;
    squares += factor * factor * chosen.squares;
    cross += factor * chosen.cross;
  }
  fit.next_d = squares > 0 ? cross / squares : 0;
  return fit;
}

CodebookSearch::Answer CodebookSearch::Find(const float* largest) const {
  // The best scale of each sub-block by itself: its largest value may be past the codebook's, or be
  // as low as the codebook's least.
  constexpr double kFirst = 0.2, kRatio = 1.08;
  const double last = kRatio * static_cast<double>(values_largest_ / values_least_);
  double scales[16] = {}, top = 0;
  for (int sub = 0; sub < format_.subs; ++sub) {
    double least = 0;
    const auto attempt = [&](double scale) {
      const Sums sums = At(sub, static_cast<float>(scale), nullptr);
      if (sums.error >= least || sums.squares <= 0) return false;
      least = sums.error;
      scales[sub] = std::max(0.0, sums.cross / sums.squares);
      return true;
    };
    const double unit = static_cast<double>(largest[sub] / values_largest_);
    if (unit > 0) {
      for (double f = kFirst; f < last; f *= kRatio) attempt(f * unit);
      for (int round = 0; round < 3 && attempt(scales[sub]); ++round) {
      }
    }
    top = std::max(top, scales[sub]);
  }
  Answer best;
  if (top > 0) {
    double least = std::numeric_limits<double>::infinity(), next_d = 0;
    const auto attempt = [&](double scale) {
      const float d = F16ToF32(F32ToF16(static_cast<float>(scale)));
      if (d == 0 || !std::isfinite(d)) return false;
      Answer answer;
      const Fit fit = FitBlock(scales, d, &answer);
      if (fit.error >= least) return false;
      least = fit.error;
      next_d = fit.next_d;
      best = answer;
      return true;
    };
    for (int n = format_.multiples - 1; n >= format_.multiples / 2; --n) {
      attempt(top / (static_cast<double>(format_.step) * (2 * n + 1)));
    }
    const double middle = static_cast<double>(best.d);
    for (const double f : {0.92, 0.96, 0.98, 1.02, 1.04, 1.08}) attempt(middle * f);
    for (int round = 0; round < 3 && attempt(next_d); ++round) {
    }
  }
  for (int sub = 0; sub < format_.subs; ++sub) {
    const int n = best.multiples[static_cast<std::size_t>(sub)];
    At(sub, best.d * format_.step * static_cast<float>(2 * n + 1), &best);
  }
  return best;
}

}  // namespace vt
