// The plot of the roofline model.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/xml_text.h"
#include "bench/roofline.h"

namespace vt {
namespace {

constexpr double kWidth = 960, kLeft = 64, kRight = 940, kTop = 54, kBottom = 520;
constexpr double kAxis = 46;     // below the plot, for its numbers and title
constexpr double kListRow = 17;  // of the list of kernels
constexpr double kLabelHeight = 13, kDigitWidth = 7, kPointRadius = 3.5;
constexpr double kPi = 3.14159265358979;
constexpr double kLetterWidth = 6.6;
constexpr const char* kHalo = "stroke=\"#ffffff\" stroke-width=\"2.5\" paint-order=\"stroke\"";
constexpr const char* kF32Colour = "#1f5fa8";
constexpr const char* kBytesColour = "#b3541e";

template <class... Values>
std::string Format(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

struct Box {
  double x0, y0, x1, y1;
  bool Meets(const Box& other) const {
    return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1;
  }
};

// A logarithmic scale from values to places.
struct Scale {
  double low = 1, high = 10;  // values
  double from = 0, to = 1;    // their places
  double operator()(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
};

// 1, 2 and 5 times the powers of ten that lie between; powers alone over many decades.
std::vector<double> Ticks(const Scale& scale) {
  std::vector<double> ticks;
  const bool wide = std::log10(scale.high / scale.low) > 3.5;
  for (int power = -6; power <= 9; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10.0, power);
      if (wide && digit != 1.0) continue;
      if (value >= scale.low * 0.999 && value <= scale.high * 1.001) ticks.push_back(value);
    }
  }
  return ticks;
}

struct Point {
  const OpSpeed* speed = nullptr;
  double x = 0, y = 0;
};

class Plot {
 public:
  Plot(const std::vector<OpSpeed>& speeds, const MachinePeaks& peaks) : peaks_(peaks) {
    for (const OpSpeed& speed : speeds) {
      if (speed.flops_per_byte() && speed.gflops() && *speed.gflops() > 0) {
        points_.push_back({&speed});
      }
    }
    for (const ReadRate& rate : peaks.reads) {
      if (rate.gb_per_s > fastest_.gb_per_s) fastest_ = rate;
    }
  }

  std::string Draw(const std::string& title) {
    if (points_.empty() || peaks_.reads.empty()) return {};
    SetScales();
    const double rows = std::ceil(static_cast<double>(points_.size()) / 2);
    const double height = kBottom + kAxis + 26 + rows * kListRow + 14;
    std::string out = Format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        kWidth, height, kWidth, height);
    out += "<text x=\"12\" y=\"22\" font-size=\"15\" font-weight=\"bold\">" + XmlText(title) +
           "</text>\n";
    out += Format(
        "<text x=\"12\" y=\"42\">blue: f32, orange: 15-bit activations in two bytes; %d "
        "threads</text>\n",
        peaks_.threads);
    return out + Grid() + Roofs() + Points() + List() + "</svg>\n";
  }

 private:
  void SetScales() {
    double least = 1e300, most = 0, slowest = 1e300;
    for (const Point& point : points_) {
      least = std::min(least, *point.speed->flops_per_byte());
      most = std::max(most, *point.speed->flops_per_byte());
      slowest = std::min(slowest, *point.speed->gflops());
    }
    top_peak_ = std::max(peaks_.f32_gflops, ArithmeticPeak(peaks_, "q15"));
    // As far as the corner of the roof, so that it is seen.
    most = std::max(most, top_peak_ / peaks_.memory_gb_per_s);
    double highest = top_peak_;
    for (const Point& point : points_) highest = std::max(highest, *point.speed->gflops());
    x_ = {least / 1.6, most * 2.5, kLeft, kRight};
    y_ = {slowest / 2, highest * 2, kBottom, kTop};
    for (Point& point : points_) {
      point.x = x_(*point.speed->flops_per_byte());
      point.y = y_(*point.speed->gflops());
      constexpr double r = kPointRadius;
      taken_.push_back({point.x - r, point.y - r, point.x + r, point.y + r});
    }
  }

  std::string Grid() const {
    std::string out = Format(
        "<g stroke=\"#e2e2e2\">\n<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
        "fill=\"none\" stroke=\"#888888\"/>\n",
        kLeft, kTop, kRight - kLeft, kBottom - kTop);
    std::string numbers;
    for (const double value : Ticks(x_)) {
      const double x = x_(value);
      out +=
          Format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>\n", x, x, kTop, kBottom);
      numbers += Format("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n", x,
                        kBottom + 17, value);
    }
    for (const double value : Ticks(y_)) {
      const double y = y_(value);
      out +=
          Format("<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", kLeft, kRight, y, y);
      numbers += Format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", kLeft - 7,
                        y + 4, value);
    }
    out += "</g>\n" + numbers;
    out += Format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">operations per byte</text>\n",
                  (kLeft + kRight) / 2, kBottom + 37);
    out += Format(
        "<text transform=\"translate(16 %.0f) rotate(-90)\" "
        "text-anchor=\"middle\">GFLOP/s</text>\n",
        (kTop + kBottom) / 2);
    return out;
  }

  // The line of a bandwidth, inside the plot; its name stands along it, at its lower end.
  std::string Diagonal(const ReadRate& rate, const char* name) {
    const double from = std::max(x_.low, y_.low / rate.gb_per_s);
    const double to = std::min(x_.high, top_peak_ / rate.gb_per_s);
    if (to <= from) return {};
    const double x0 = x_(from), y0 = y_(from * rate.gb_per_s);
    const double x1 = x_(to), y1 = y_(to * rate.gb_per_s);
    std::string out = Format(
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#444444\" "
        "stroke-width=\"1.5\"/>\n",
        x0, y0, x1, y1);
    const double size = static_cast<double>(rate.bytes) / (1 << 20);
    const std::string text =
        Format("%s %.1f GB/s (%.*f MiB)", name, rate.gb_per_s, size < 1 ? 2 : 0, size);
    const double length = std::hypot(x1 - x0, y1 - y0);
    const double dx = (x1 - x0) / length, dy = (y1 - y0) / length;
    const double width = kLetterWidth * static_cast<double>(text.size());
    // Above the line, as low as no point is in the way.
    double along = 10;
    std::vector<Box> boxes;
    for (double start = along; start + width < length; start += 12) {
      std::vector<Box> tried;
      for (double at = start; at < start + width; at += 8) {
        const double cx = x0 + at * dx + 9 * dy, cy = y0 + at * dy - 9 * dx;
        tried.push_back({cx - 8, cy - 8, cx + 8, cy + 8});
      }
      const bool free = std::all_of(tried.begin(), tried.end(), [&](const Box& box) {
        return box.x1 < kRight && box.y0 > kTop && IsFree(box);
      });
      if (boxes.empty() || free) {
        along = start;
        boxes = std::move(tried);
      }
      if (free) break;
    }
    taken_.insert(taken_.end(), boxes.begin(), boxes.end());
    return out + Format(
                     "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" y=\"-5\" "
                     "fill=\"#444444\" %s>%s</text>\n",
                     x0 + along * dx, y0 + along * dy, std::atan2(dy, dx) * 180 / kPi, kHalo,
                     text.c_str());
  }

  bool IsFree(const Box& box) const {
    return std::none_of(taken_.begin(), taken_.end(),
                        [&](const Box& other) { return box.Meets(other); });
  }

  // The line of an arithmetic peak, from where the fastest bandwidth reaches it.
  std::string Horizontal(double gflops, const char* name, const char* colour) {
    const double from = std::max(x_.low, gflops / fastest_.gb_per_s), y = y_(gflops);
    const std::string text = Format("%s %.0f GFLOP/s", name, gflops);
    const double width = kLetterWidth * static_cast<double>(text.size());
    taken_.push_back({kRight - 8 - width, y - 18, kRight, y});
    return Format(
               "<line x1=\"%.1f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
               "stroke-width=\"1.5\"/>\n",
               x_(from), kRight, y, y, colour) +
           Format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">%s</text>\n",
                  kRight - 6, y - 5, colour, text.c_str());
  }

  std::string Roofs() {
    std::string out = Diagonal(peaks_.reads.back(), "memory");
    if (fastest_.gb_per_s > 1.15 * peaks_.memory_gb_per_s) out += Diagonal(fastest_, "cache");
    out += Horizontal(peaks_.f32_gflops, "f32", kF32Colour);
    const double bytes = ArithmeticPeak(peaks_, "q15");
    if (bytes > 1.05 * peaks_.f32_gflops) out += Horizontal(bytes, "15-bit", kBytesColour);
    return out;
  }

  // A place for a number of that width near a point: to its right if that is free, else around it,
  // ever farther off.
  Box PlaceFor(const Point& point, double width) const {
    Box best{point.x + 6, point.y - kLabelHeight / 2, point.x + 6 + width,
             point.y + kLabelHeight / 2};
    for (double radius = 6; radius < 150; radius += 7) {
      for (int turn = 0; turn < 16; ++turn) {
        const int eighths = (turn % 2 ? -1 : 1) * ((turn + 1) / 2);
        const double angle = eighths * kPi / 8;
        const double cx = point.x + (radius + width / 2) * std::cos(angle);
        const double cy = point.y + (radius + kLabelHeight / 2) * std::sin(angle);
        const Box box{cx - width / 2, cy - kLabelHeight / 2, cx + width / 2, cy + kLabelHeight / 2};
        if (box.x0 < kLeft + 2 || box.x1 > kRight - 2 || box.y0 < kTop + 2 ||
            box.y1 > kBottom - 2) {
          continue;
        }
        if (IsFree(box)) return box;
      }
    }
    return best;
  }

  static const char* ColourOf(const OpSpeed& speed) {
    return speed.activations == "q15" ? kBytesColour : kF32Colour;
  }

  std::string Points() {
    std::string marks, labels;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Point& point = points_[i];
      const std::string number = std::to_string(i + 1);
      const Box box = PlaceFor(point, kDigitWidth * static_cast<double>(number.size()));
      taken_.push_back(box);
      const double cx = (box.x0 + box.x1) / 2, cy = (box.y0 + box.y1) / 2;
      const char* colour = ColourOf(*point.speed);
      if (std::hypot(cx - point.x, cy - point.y) > 18) {
        labels += Format(
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#aaaaaa\" "
            "stroke-width=\"0.7\"/>\n",
            point.x, point.y, cx, cy);
      }
      labels += Format(
          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\" fill=\"%s\" "
          "%s>%s</text>\n",
          cx, cy + 4, colour, kHalo, number.c_str());
      marks += Format(
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"><title>%s</title></circle>\n",
          point.x, point.y, kPointRadius, colour, XmlText(NameOf(*point.speed)).c_str());
    }
    return labels + marks;
  }

  static std::string NameOf(const OpSpeed& speed) { return speed.op + " " + speed.shape; }

  std::string List() const {
    std::string out;
    const std::size_t rows = (points_.size() + 1) / 2;
    const double top = kBottom + kAxis + 20;
    for (std::size_t column = 0; column < 2 && column < points_.size(); ++column) {
      const double x = 12 + 474 * static_cast<double>(column);
      out += Format(
          "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\" text-anchor=\"end\">GFLOP/s</text>\n"
          "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\" text-anchor=\"end\">of roof</text>\n",
          x + 395, top - 4, x + 450, top - 4);
    }
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const OpSpeed& speed = *points_[i].speed;
      const double x = 12 + (i < rows ? 0 : 474);
      const double y = top + kListRow * static_cast<double>(i % rows + 1) - 4;
      std::string name = speed.op + " " + speed.kernel + " " + ShortShape(speed);
      constexpr std::size_t kMostName = 52;
      if (name.size() > kMostName) name = name.substr(0, kMostName - 2) + "..";
      out += Format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\" fill=\"%s\">%zu</text>\n",
                    x + 20, y, ColourOf(speed), i + 1);
      out += Format("<text x=\"%.0f\" y=\"%.0f\" font-size=\"11\">%s</text>\n", x + 28, y,
                    XmlText(name).c_str());
      out += Format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.1f</text>\n", x + 395, y,
                    *speed.gflops());
      out += Format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.0f %%</text>\n", x + 450, y,
                    100 * RoofOf(speed, peaks_).share);
    }
    return out;
  }

  static std::string ShortShape(const OpSpeed& speed) {
    return speed.type + (speed.rows ? ", rows " + std::to_string(*speed.rows) : "");
  }

  const MachinePeaks& peaks_;
  std::vector<Point> points_;
  std::vector<Box> taken_;
  ReadRate fastest_;
  Scale x_, y_;
  double top_peak_ = 0;
};

}  // namespace

std::string RooflineSvg(const std::string& title, const std::vector<OpSpeed>& speeds,
                        const MachinePeaks& peaks) {
  return Plot(speeds, peaks).Draw(title);
}

}  // namespace vt
