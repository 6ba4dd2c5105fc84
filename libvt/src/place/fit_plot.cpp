#include "place/fit_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/size_text.h"
#include "base/xml_text.h"

namespace vt {
namespace {

constexpr double kWidth = 900, kLeft = 90, kRight = 760, kHead = 60, kPanel = 300, kGap = 70;
constexpr const char* kColours[] = {"#7a3e9d", "#1f5fa8", "#2e8b57", "#b3541e"};

template <class... Values>
std::string Format(const char* format, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string Text(double x, double y, const char* anchor, std::string_view text) {
  return Format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + XmlText(text) +
         "</text>\n";
}

std::string Line(double x0, double y0, double x1, double y1, const char* style) {
  return Format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x0, y0, x1, y1,
                style);
}

// One device: contexts on a logarithmic axis, bytes from 0.
class Panel {
 public:
  Panel(const std::vector<FitCurve>& curves, const DeviceFit& device, std::size_t index, double top)
      : curves_(curves), device_(device), index_(index), top_(top) {
    for (const FitCurve& curve : curves) {
      for (const FitCurve::Point& point : curve.points) {
        low_ = std::min(low_, static_cast<double>(point.context));
        high_ = std::max(high_, static_cast<double>(point.context));
        most_ = std::max(most_, static_cast<double>(point.need_bytes[index]));
      }
    }
    if (high_ <= low_) high_ = low_ * 2;
    // A budget far above all needs would flatten them.
    if (budget() > 0 && budget() < 4 * most_) most_ = std::max(most_, budget());
    most_ *= 1.06;
  }

  std::string Draw() const {
    std::string svg = Text(kLeft, top_ - 10, "start", Title());
    svg += Format(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
        "stroke=\"#888\"/>\n",
        kLeft, top_, kRight - kLeft, kPanel);
    svg += Grid();
    if (budget() > 0 && budget() <= most_) {
      svg += Line(kLeft, Y(budget()), kRight, Y(budget()),
                  "stroke=\"#c00\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"");
      svg += Text(kRight - 6, Y(budget()) - 5, "end", "budget");
    }
    for (std::size_t i = 0; i < curves_.size(); ++i) svg += Curve(i);
    return svg;
  }

 private:
  double budget() const { return static_cast<double>(device_.budget.bytes.value_or(0)); }
  std::string Title() const {
    std::string title = device_.id;
    if (!device_.name.empty()) title += ": " + device_.name;
    if (device_.budget.bytes) title += ", budget " + SizeText(*device_.budget.bytes);
    return title;
  }
  double X(double context) const {
    return kLeft + (kRight - kLeft) * std::log(context / low_) / std::log(high_ / low_);
  }
  double Y(double bytes) const { return top_ + kPanel * (1 - bytes / most_); }

  std::string Grid() const {
    std::string svg;
    for (double context = 512; context <= high_; context *= 4) {
      if (context < low_) continue;
      svg += Line(X(context), top_, X(context), top_ + kPanel, "stroke=\"#ddd\"");
      svg += Text(X(context), top_ + kPanel + 16, "middle", std::to_string(std::lround(context)));
    }
    for (int i = 0; i <= 4; ++i) {
      const double bytes = most_ * i / 4;
      svg += Line(kLeft, Y(bytes), kRight, Y(bytes), "stroke=\"#ddd\"");
      svg += Text(kLeft - 6, Y(bytes) + 4, "end", SizeText(static_cast<std::uint64_t>(bytes)));
    }
    return svg +
           Text((kLeft + kRight) / 2, top_ + kPanel + 34, "middle", "positions of a sequence");
  }

  std::string Curve(std::size_t which) const {
    const FitCurve& curve = curves_[which];
    const char* colour = kColours[which % std::size(kColours)];
    if (curve.points.empty()) return {};
    std::string points;
    for (const FitCurve::Point& point : curve.points) {
      points += Format("%.1f,%.1f ", X(static_cast<double>(point.context)),
                       Y(static_cast<double>(point.need_bytes[index_])));
    }
    // f16 and bf16 take the same room: one of them is dotted.
    std::string svg =
        Format("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" %s points=\"", colour,
               curve.kv_type == DType::kBF16 ? "stroke-dasharray=\"2 5\"" : "");
    svg += points + "\"/>\n";
    const double y = top_ + 16 + 18 * static_cast<double>(which);
    svg += Line(kRight + 12, y - 4, kRight + 36, y - 4,
                Format("stroke=\"%s\" stroke-width=\"2\"", colour).c_str());
    return svg + Text(kRight + 42, y, "start", NameOf(curve.kv_type));
  }

  const std::vector<FitCurve>& curves_;
  const DeviceFit& device_;
  std::size_t index_;
  double top_;
  double low_ = 1e18, high_ = 1, most_ = 1;
};

}  // namespace

std::string FitPlot(const FitModel& model, const Fit& fit, const std::vector<FitCurve>& curves) {
  std::string panels;
  double top = kHead;
  for (std::size_t i = 0; i < fit.devices.size(); ++i) {
    if (!fit.devices[i].used && !fit.devices[i].beside) continue;
    panels += Panel(curves, fit.devices[i], i, top).Draw();
    top += kPanel + kGap;
  }
  std::string svg = Format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"#fff\"/>\n",
      kWidth, top);
  svg += Text(kLeft, 24, "start",
              "Memory of " + (model.name.empty() ? model.file : model.name) + ", " +
                  std::to_string(fit.options.sequences) + " sequence" +
                  (fit.options.sequences == 1 ? "" : "s") + ", ubatch " +
                  std::to_string(fit.options.ubatch) + ", by type of keys and values");
  return svg + panels + "</svg>\n";
}

}  // namespace vt
