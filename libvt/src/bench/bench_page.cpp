#include "bench/bench_page.h"

#include <algorithm>
#include <cstdio>

#include "base/json_writer.h"
#include "base/xml_text.h"
#include "bench/bench_export.h"

namespace vt {
namespace {

constexpr int kWidth = 720, kLabel = 130, kRate = 110, kRow = 26, kHead = 34;

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
                  XmlText(AxisOf(result.test)).c_str());
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

std::string Plot(const BenchRecord& record, bool with_title) {
  int y = with_title ? kHead : 4;
  std::string body;
  if (with_title) body = "<text x=\"0\" y=\"18\">" + XmlText(Title(record)) + "</text>\n";
  body += Bars(record, BenchKind::kPrefill, y);
  body += Bars(record, BenchKind::kDecode, y);
  body += Format("<text x=\"%d\" y=\"%d\" fill=\"#666666\">bar: median; marks: samples</text>\n",
                 kLabel, y + 10);
  if (with_title && (!record.voids.empty() || record.partial)) {
    body += Format("<text x=\"0\" y=\"%d\" fill=\"#bb2222\">%s</text>\n", y + 10,
                   record.partial ? "partial" : "void");
  }
  y += kRow;
  return Format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
             "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
             kWidth, y, kWidth, y) +
         body + "</svg>\n";
}

std::string Row(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  return "<tr><th>" + XmlText(name) + "</th><td>" + XmlText(value) + "</td></tr>\n";
}

std::string Facts(const BenchRecord& record) {
  const BenchSettings& settings = record.settings;
  std::string features;
  for (const std::string_view feature : FeatureNames(record.device.features)) {
    features.append(features.empty() ? "" : " ").append(feature);
  }
  std::string temperatures;
  for (const Temperature& one : record.after.temperatures) {
    temperatures += Format("%s%s %.0f C", temperatures.empty() ? "" : ", ",
                           one.sensor.substr(0, 40).c_str(), one.celsius);
  }
  return "<table>\n" + Row("date", record.date) + Row("processor", record.device.name) +
         Row("instructions", features) + Row("threads", std::to_string(settings.engine.threads)) +
         Row("governor", record.before.governor) + Row("temperatures after", temperatures) +
         Row("operating system", record.kernel_release) +
         Row("program", "vt " + record.tool_version + " (" + record.tool_commit + "), " +
                            record.build.compiler + ", " + record.build.build_type) +
         Row("model", record.model.file.substr(record.model.file.rfind('/') + 1)) +
         Row("digest", record.model.digest) + Row("KV cache", NameOf(settings.engine.kv_type)) +
         "</table>\n";
}

}  // namespace

std::string BenchSvg(const BenchRecord& record) { return Plot(record, true); }

std::string BenchHtml(const BenchRecord& record) {
  // Nothing in a script element can then end it or begin another.
  std::string json = BenchJson(record);
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += 6) {
    json.replace(at, 1, "\\u003c");
  }
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
      XmlText(Title(record)) +
      "</title>\n<style>body{font:14px sans-serif;margin:2em;max-width:760px}h1{font-size:20px}"
      "pre{overflow-x:auto;background:#f4f4f4;padding:1em}.void{color:#b22}"
      "th{text-align:left;font-weight:normal;color:#666;padding:1px 1.5em 1px 0;"
      "vertical-align:top}</style></head>\n<body>\n<h1>" +
      XmlText(Title(record)) + "</h1>\n";
  for (const BenchVoid& one : record.voids) {
    out += "<p class=\"void\">void: " + XmlText(one.code) +
           (one.axis.empty() ? "" : " (" + XmlText(one.axis) + ")") + ": " + XmlText(one.message) +
           "</p>\n";
  }
  if (record.partial) {
    out += "<p class=\"void\">partial: " + XmlText(record.partial_reason) + "</p>\n";
  }
  out += Plot(record, false) + "<pre>" + XmlText(BenchRates(record)) + "</pre>\n" + Facts(record);
  return out + "<script type=\"application/json\" id=\"record\">" + json +
         "</script>\n</body></html>\n";
}

}  // namespace vt
