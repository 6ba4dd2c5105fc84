#include "bench/bench_page.h"

#include <algorithm>
#include <cstdio>

#include "base/json_writer.h"
#include "bench/bench_export.h"

namespace vt {
namespace {

constexpr int kWidth = 720, kLabel = 130, kRate = 110, kRow = 26, kHead = 34;

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out.push_back(static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c);
    }
  }
  return out;
}

std::string Title(const BenchRecord& record) {
  const BenchModel& model = record.model;
  return (model.name.empty() ? model.architecture : model.name) + ", " +
         std::to_string(record.settings.engine.threads) + " threads of " + record.device.name;
}

template <class... Values>
std::string Format(const char* format, Values... values) {
  char text[320];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// The bars of one kind from `y` on; y is moved below them.
std::string Bars(const BenchRecord& record, BenchKind kind, int& y) {
  double largest = 0;
  for (const BenchResult& result : record.results) {
    if (result.test.kind == kind) largest = std::max(largest, Summarise(RatesOf(result)).max);
  }
  if (largest <= 0) return {};
  std::string out =
      Format("<text x=\"0\" y=\"%d\" font-weight=\"bold\">%s, tokens a second</text>\n", y + 16,
             std::string(NameOf(kind)).c_str());
  y += kHead - 8;
  const double scale = (kWidth - kLabel - kRate) / largest;
  for (const BenchResult& result : record.results) {
    if (result.test.kind != kind) continue;
    const std::vector<double> rates = RatesOf(result);
    const Summary s = Summarise(rates);
    out += Format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", kLabel - 8, y + 16,
                  Escaped(AxisOf(result.test)).c_str());
    out += Format("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#6699cc\"/>\n",
                  kLabel, y + 3, s.median * scale, kRow - 8);
    for (const double rate : rates) {
      out += Format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#223344\"/>\n",
                    kLabel + rate * scale, kLabel + rate * scale, y + 6, y + kRow - 8);
    }
    out += Format("<text x=\"%.1f\" y=\"%d\">%.1f</text>\n", kLabel + s.max * scale + 6, y + 16,
                  s.median);
    y += kRow;
  }
  y += 10;
  return out;
}

}  // namespace

std::string BenchSvg(const BenchRecord& record) {
  int y = kHead;
  std::string body = "<text x=\"0\" y=\"18\">" + Escaped(Title(record)) + "</text>\n";
  body += Bars(record, BenchKind::kPrefill, y) + Bars(record, BenchKind::kDecode, y);
  if (!record.voids.empty() || record.partial) {
    body += Format("<text x=\"0\" y=\"%d\" fill=\"#bb2222\">%s</text>\n", y + 14,
                   record.partial ? "partial" : "void: does not count");
    y += kRow;
  }
  return Format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
             "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
             kWidth, y, kWidth, y) +
         body + "</svg>\n";
}

std::string BenchHtml(const BenchRecord& record) {
  // Nothing in a script element can then end it or begin another.
  std::string json = BenchJson(record);
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += 6) {
    json.replace(at, 1, "\\u003c");
  }
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
      Escaped(Title(record)) +
      "</title>\n<style>body{font:14px sans-serif;margin:2em;max-width:760px}"
      "pre{overflow-x:auto;background:#f4f4f4;padding:1em}.void{color:#b22}</style></head>\n"
      "<body>\n<h1>" +
      Escaped(Title(record)) + "</h1>\n" + BenchSvg(record);
  for (const BenchVoid& one : record.voids) {
    out += "<p class=\"void\">void: " + Escaped(one.code) + " " + Escaped(one.axis) + ": " +
           Escaped(one.message) + "</p>\n";
  }
  if (record.partial) {
    out += "<p class=\"void\">partial: " + Escaped(record.partial_reason) + "</p>\n";
  }
  out += "<pre>" + Escaped(BenchTable(record)) + "</pre>\n<p>" + Escaped(record.date) + ", vt " +
         Escaped(record.tool_version) + " (" + Escaped(record.tool_commit) + "), " +
         Escaped(record.build.compiler) + ", " + Escaped(record.kernel_release) + ", model " +
         Escaped(record.model.digest) + "</p>\n";
  return out + "<script type=\"application/json\" id=\"record\">" + json +
         "</script>\n</body></html>\n";
}

}  // namespace vt
