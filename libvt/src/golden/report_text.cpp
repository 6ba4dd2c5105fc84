// Reports for people, JUnit readers and GitHub.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/xml_text.h"
#include "golden/report.h"

namespace vt {
namespace {

std::string Number(double value, const char* format = "%.3g") {
  if (std::isnan(value)) return "unknown";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// A token's text in quotes, control characters and what is not UTF-8 made visible.
std::string QuotedText(const std::string& text) {
  JsonWriter json;
  json.Value(text);
  return json.Take();
}

std::string TokenPhrase(TokenId id, const std::string& text) {
  return std::to_string(id) + (text.empty() ? "" : " " + QuotedText(text));
}

std::string DeparturePhrase(const Departure& part) {
  std::string text = "token " + std::to_string(part.index) + " is " +
                     std::string(NameOf(part.verdict)) + ": golden " +
                     TokenPhrase(part.golden, part.golden_text) + ", here " +
                     TokenPhrase(part.ours, part.our_text);
  if (!std::isnan(part.our_logit)) {
    text += "; logits here " + Number(part.our_logit_of_golden, "%.6g") + " and " +
            Number(part.our_logit, "%.6g");
  }
  if (!std::isnan(part.golden_logit)) {
    text += ", in the golden " + Number(part.golden_logit, "%.6g") + " and " +
            (std::isnan(part.golden_logit_of_ours) ? "below its list"
                                                   : Number(part.golden_logit_of_ours, "%.6g"));
  }
  return text + "; golden's margin " + Number(part.golden_margin);
}

std::string CaseText(const CaseReport& one) {
  std::string text = "  " + ValidUtf8(one.name) + ": " + std::string(NameOf(one.state)) + ", " +
                     std::to_string(one.same) + "/" + std::to_string(one.tokens) + " tokens same";
  if (one.rows > 0) {
    text += "; mean KL " + Number(one.mean_kl) + ", max " + Number(one.kl.value) + " at row " +
            std::to_string(one.kl.row);
  }
  text += "\n";
  if (!one.departures.empty()) text += "    " + DeparturePhrase(one.departures.front()) + "\n";
  for (const std::string& reason : one.reasons) text += "    " + ValidUtf8(reason) + "\n";
  return text;
}

std::string Details(const CaseReport& one) {
  std::string text;
  for (const std::string& reason : one.reasons) text += reason + "\n";
  for (const Departure& part : one.departures) text += DeparturePhrase(part) + "\n";
  return text;
}

// The message of a workflow command: one line, escaped as GitHub asks.
std::string GithubEscaped(std::string_view raw, bool property) {
  std::string out;
  for (const char c : ValidUtf8(raw)) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == '\r') {
      out += "%0D";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

constexpr char kXmlHead[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

}  // namespace

std::string ReportText(const GoldenReport& report) {
  const std::string name = ValidUtf8(ReportName(report));
  if (!report.skipped.empty()) return name + ": skipped: " + ValidUtf8(report.skipped) + "\n";
  const ReportCounts n = Count(report);
  if (VerdictOf(report) == "nothing") {
    std::string text = name + ": nothing was compared, so nothing was shown\n";
    for (const CaseReport& one : report.cases) text += CaseText(one);
    return text;
  }
  std::string text =
      name + ": " + std::to_string(n.same) + "/" + std::to_string(n.tokens) + " same";
  if (n.ties > 0) {
    text += ", " + std::to_string(n.ties) + " near ties (margin below " +
            Number(report.limits.tie) + ")";
  }
  if (n.wrong > 0) text += ", " + std::to_string(n.wrong) + " wrong";
  if (n.unchecked > 0) text += ", " + std::to_string(n.unchecked) + " not compared";
  double kl = 0;
  std::size_t rows = 0;
  for (const CaseReport& one : report.cases) {
    if (one.rows > 0) kl += one.mean_kl * static_cast<double>(one.rows);
    rows += one.rows;
  }
  if (rows > 0) text += ", mean KL " + Number(kl / static_cast<double>(rows));
  std::size_t checkpoint_rows = 0;
  double layer_error = 0;
  for (const CaseReport& one : report.cases) {
    checkpoint_rows += one.checkpoint_rows;
    if (one.worst_checkpoint) layer_error = std::max(layer_error, one.worst_checkpoint->error);
  }
  if (checkpoint_rows > 0) {
    text += ", layers off by at most " + Number(layer_error) + " at " +
            std::to_string(checkpoint_rows) + " checkpoints";
  }
  if (n.cases_same < n.cases) {
    text += "; of " + std::to_string(n.cases) + " cases " + std::to_string(n.cases_same) +
            " same, " + std::to_string(n.cases_with_ties) + " with ties, " +
            std::to_string(n.cases_wrong) + " wrong, " + std::to_string(n.cases_skipped) +
            " skipped";
  }
  text += "\n";
  for (const CaseReport& one : report.cases) {
    if (one.state != CaseState::kSame) text += CaseText(one);
  }
  return text;
}

std::string JUnitText(const GoldenReport& report) {
  const ReportCounts n = Count(report);
  const std::string name = XmlText(ReportName(report));
  const std::size_t extra = report.skipped.empty() && n.cases > 0 ? 0 : 1;
  const bool skipped = !report.skipped.empty();
  const std::size_t failures =
      n.cases_wrong + n.cases_skipped + (skipped ? 0 : extra) + (report.variant ? 1 : 0);
  std::string text = kXmlHead;
  text += "<testsuites>\n<testsuite name=\"vt-golden " + name + "\" tests=\"" +
          std::to_string(n.cases + extra + (report.variant ? 1 : 0)) + "\" failures=\"" +
          std::to_string(failures) + "\" errors=\"0\" skipped=\"" +
          std::to_string(skipped ? 1 : 0) + "\">\n";
  for (const CaseReport& one : report.cases) {
    const bool good = one.state == CaseState::kSame || one.state == CaseState::kNearTies;
    text += "<testcase classname=\"" + name + "\" name=\"" + XmlText(one.name) + "\"";
    if (good) {
      text += "/>\n";
      continue;
    }
    text += ">\n<failure message=\"" +
            XmlText(one.reasons.empty() ? NameOf(one.state) : one.reasons.front()) + "\">" +
            XmlText(Details(one)) + "</failure>\n</testcase>\n";
  }
  if (skipped) {
    text += "<testcase classname=\"" + name + "\" name=\"model\">\n<skipped message=\"" +
            XmlText(report.skipped) + "\"/>\n</testcase>\n";
  } else if (n.cases == 0) {
    text += "<testcase classname=\"" + name +
            "\" name=\"cases\">\n<failure message=\"the golden has no cases\"/>\n</testcase>\n";
  }
  if (report.variant) {
    text += "<testcase classname=\"" + name +
            "\" name=\"invariance\">\n<failure message=\"logits depend on how they were "
            "computed\"/>\n</testcase>\n";
  }
  return text + "</testsuite>\n</testsuites>\n";
}

std::string JUnitFailure(std::string_view golden_file, const Status& status) {
  const std::string name = XmlText(golden_file);
  return std::string(kXmlHead) + "<testsuites>\n<testsuite name=\"vt-golden " + name +
         "\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n<testcase classname=\"" +
         name + "\" name=\"check\">\n<error type=\"" + std::string(CodeName(status.code())) +
         "\" message=\"" + XmlText(status.message()) +
         "\"/>\n</testcase>\n</testsuite>\n</testsuites>\n";
}

std::string GithubText(const GoldenReport& report) {
  const std::string name = ReportName(report);
  const auto line = [&](std::string_view kind, const std::string& about,
                        const std::string& message) {
    return "::" + std::string(kind) + " title=" + GithubEscaped("vt-golden " + about, true) +
           "::" + GithubEscaped(message, false) + "\n";
  };
  if (!report.skipped.empty()) return line("warning", name, "skipped: " + report.skipped);
  if (VerdictOf(report) == "nothing") return line("error", name, "nothing was compared");
  std::string text;
  for (const CaseReport& one : report.cases) {
    if (one.state == CaseState::kSame) continue;
    const bool tie = one.state == CaseState::kNearTies;
    std::string details = Details(one);
    if (details.ends_with('\n')) details.pop_back();
    text += line(tie ? "notice" : "error", name + " " + one.name, details);
  }
  if (report.variant) text += line("error", name, "logits depend on how they were computed");
  return text;
}

std::string GithubFailure(const Status& status) {
  return "::error title=vt-golden::" + GithubEscaped(status.message(), false) + "\n";
}

}  // namespace vt
