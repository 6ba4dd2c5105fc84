// The memory map as a drawing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "base/size_text.h"
#include "base/xml_text.h"
#include "place/plan_map.h"

namespace vt {
namespace {

constexpr double kWidth = 960, kLeft = 16, kRight = 944;
constexpr double kTitle = 40;       // of the drawing
constexpr double kStrip = 34;       // height of a strip
constexpr double kAboveStrip = 42;  // name and budget of its device
constexpr double kTicks = 20;       // below a strip
constexpr double kListRow = 19, kListColumn = 309.0;
constexpr double kGap = 26;  // between devices
constexpr double kLetterWidth = 6.7;
constexpr const char* kOver = "#c02020";
constexpr const char* kFree = "#f2f2f2";

template <class... Values>
std::string Format(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// One hue for each kind of row, so that kinds are told apart at a glance and rows of a kind are
// seen to belong together.
const char* ColourOf(std::string_view row) {
  struct Colour {
    std::string_view row;
    const char* colour;
  };
  constexpr Colour kColours[] = {{"weights.kept", "#1f5fa8"},
                                 {"weights.gathered", "#4a86c8"},
                                 {"weights.repacked", "#4a86c8"},
                                 {"weights.expanded", "#7fb0e0"},
                                 {"weights.slots", "#a9cdef"},
                                 {"weights.streamed", "#16406f"},
                                 {"kv.full", "#b3541e"},
                                 {"kv.window", "#d17a3a"},
                                 {"kv.latent", "#9a3f52"},
                                 {"kv.indexer", "#e0a36a"},
                                 {"kv.state", "#a07a12"},
                                 {"activations", "#2f8a57"},
                                 {"logits", "#7a4fa3"},
                                 {"scratch", "#58a9a0"},
                                 {"staging", "#8a8f2a"},
                                 {"runtime", "#777777"},
                                 {"margin", "#b5b5b5"}};
  for (const Colour& colour : kColours) {
    if (row == colour.row) return colour.colour;
  }
  return "#555555";
}

// As many characters of it as a width has room for.
std::string Short(const std::string& text, double width) {
  const auto most = static_cast<std::size_t>(std::max(width / kLetterWidth, 3.0));
  return text.size() <= most ? text : text.substr(0, most - 2) + "..";
}

// The distance of ticks: a power of two of bytes, of which four to eight fit the scale.
std::uint64_t TickStep(std::uint64_t scale) {
  std::uint64_t step = 1;
  while (scale / step >= 8) step *= 2;
  return step;
}

// "16 GiB" for "16.00 GiB".
std::string TickText(std::uint64_t bytes) {
  std::string text = SizeText(bytes);
  const std::size_t dot = text.find('.'), blank = text.find(' ');
  if (dot != std::string::npos && text.find_first_not_of('0', dot + 1) == blank) {
    text.erase(dot, blank - dot);
  }
  return text;
}

class DeviceStrip {
 public:
  DeviceStrip(const MapDevice& device, double top)
      : device_(device), scale_(MapScale(device)), strip_(top + kAboveStrip) {}

  static double Height(const MapDevice& device) {
    const double lines = std::ceil(static_cast<double>(device.rows.size() + 1) / 3);
    return kAboveStrip + kStrip + kTicks + lines * kListRow + kGap;
  }

  std::string Draw() const { return Title() + Rows() + Ticks() + BudgetLine() + List(); }

 private:
  double At(std::uint64_t bytes) const {
    return kLeft + (kRight - kLeft) * static_cast<double>(bytes) / static_cast<double>(scale_);
  }

  std::string Title() const {
    const std::uint64_t total = device_.total_bytes();
    std::string name = device_.id;
    if (!device_.name.empty()) name += ": " + device_.name;
    std::string budget = "budget not known";
    bool over = false;
    if (device_.budget_bytes) {
      const std::int64_t left = SignedDifference(*device_.budget_bytes, total);
      over = left < 0;
      budget = "budget " + SizeText(*device_.budget_bytes) +
               (over ? ", over by " + SizeText(-left) : ", " + SizeText(left) + " left");
      if (!device_.budget_source.empty()) budget += " (" + device_.budget_source + ")";
    }
    const double y = strip_ - kAboveStrip;
    return Format("<text x=\"%.0f\" y=\"%.1f\" font-weight=\"bold\">", kLeft, y + 14) +
           XmlText(Short(name, kRight - kLeft)) + "</text>\n" +
           Format("<text x=\"%.0f\" y=\"%.1f\" font-size=\"12\" fill=\"%s\">", kLeft, y + 32,
                  over ? kOver : "#444444") +
           XmlText("needs " + SizeText(total) + "; " +
                   Short(budget, kRight - kLeft - kLetterWidth * 24)) +
           "</text>\n";
  }

  std::string Rows() const {
    std::string out = Format(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\" "
        "stroke=\"#999999\"/>\n",
        kLeft, strip_, kRight - kLeft, kStrip, kFree);
    std::uint64_t before = 0;
    for (const MapRow& row : device_.rows) {
      const double x0 = At(before), x1 = At(before + row.bytes), width = std::max(x1 - x0, 0.6);
      before += row.bytes;
      out += Format(
          "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\" "
          "stroke=\"#ffffff\" stroke-width=\"%.1f\"><title>",
          x0, strip_ + 1, width, kStrip - 2, ColourOf(row.row), width > 4 ? 1.0 : 0.0);
      out += XmlText(row.row + " " + SizeText(row.bytes)) + "</title></rect>\n";
      const std::string size = SizeText(row.bytes);
      const double letters =
          kLetterWidth * static_cast<double>(std::max(row.row.size(), size.size()));
      if (width < letters + 8) continue;
      const double x = (x0 + x1) / 2;
      out += "<g fill=\"#ffffff\" text-anchor=\"middle\" font-size=\"11.5\">";
      out += Format("<text x=\"%.1f\" y=\"%.1f\">", x, strip_ + 15) + XmlText(row.row);
      out += Format("</text><text x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", x, strip_ + 28,
                    size.c_str());
    }
    return out;
  }

  std::string Ticks() const {
    std::string out = "<g font-size=\"10.5\" fill=\"#555555\" stroke-width=\"1\">\n";
    const std::uint64_t step = TickStep(scale_);
    for (std::uint64_t at = 0; at <= scale_; at += step) {
      const double x = At(at), y = strip_ + kStrip;
      // The last one would run out of the drawing.
      const char* anchor = at == 0 ? "start" : x > kRight - 30 ? "end" : "middle";
      out += Format(
          "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#999999\"/>"
          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
          x, x, y, y + 4, x, y + 15, anchor, at == 0 ? "0" : TickText(at).c_str());
    }
    return out + "</g>\n";
  }

  std::string BudgetLine() const {
    if (!device_.budget_bytes || *device_.budget_bytes > scale_) return {};
    const double x = At(*device_.budget_bytes);
    return Format(
        "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\" "
        "stroke-dasharray=\"5 3\"><title>budget</title></line>\n",
        x, x, strip_ - 5, strip_ + kStrip + 5, kOver);
  }

  std::string List() const {
    std::string out = "<g font-size=\"12\">\n";
    const double top = strip_ + kStrip + kTicks;
    std::size_t at = 0;
    const auto entry = [&](const char* colour, const std::string& text) {
      const double x = kLeft + kListColumn * static_cast<double>(at % 3);
      const std::size_t row = at / 3 + 1;
      const double y = top + kListRow * static_cast<double>(row);
      ++at;
      out += Format(
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"11\" fill=\"%s\" "
          "stroke=\"#999999\" stroke-width=\"0.5\"/><text x=\"%.1f\" y=\"%.1f\">",
          x, y - 9.5, colour, x + 18, y);
      out += XmlText(Short(text, kListColumn - 26)) + "</text>\n";
    };
    for (const MapRow& row : device_.rows) {
      const std::string how = row.how.empty() ? "" : " (" + row.how + ")";
      entry(ColourOf(row.row), row.row + "  " + SizeText(row.bytes) + how);
    }
    if (device_.rows.empty()) {
      entry(kFree, "nothing of the model is here");
    } else if (device_.budget_bytes && *device_.budget_bytes > scale_) {
      entry(kFree, "the budget's line is far to the right");
    }
    return out + "</g>\n";
  }

  const MapDevice& device_;
  std::uint64_t scale_;
  double strip_;  // its upper edge
};

}  // namespace

std::string MemoryMapSvg(const std::string& title, std::span<const MapDevice> devices) {
  double height = kTitle;
  for (const MapDevice& device : devices) height += DeviceStrip::Height(device);
  std::string out = Format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      kWidth, height, kWidth, height);
  out += Format("<text x=\"%.0f\" y=\"25\" font-size=\"15\" font-weight=\"bold\">", kLeft) +
         XmlText(Short(title, (kRight - kLeft) * 0.85)) + "</text>\n";
  double top = kTitle;
  for (const MapDevice& device : devices) {
    out += DeviceStrip(device, top).Draw();
    top += DeviceStrip::Height(device);
  }
  return out + "</svg>\n";
}

}  // namespace vt
