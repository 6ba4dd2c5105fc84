// The answers of vt-fit as tables for people.
#include <algorithm>

#include "base/size_text.h"
#include "base/text_layout.h"
#include "cli/fit.h"

namespace vt::cli {
namespace {

// Words wrapped at `indent`.
std::string Paragraph(std::size_t indent, std::string_view text) {
  return std::string(indent, ' ') + Wrapped(text, indent, indent);
}

std::string SizeOr(const std::optional<std::uint64_t>& bytes) {
  return bytes ? SizeText(*bytes) : std::string("unknown");
}

std::string Heading(const FitModel& model, const EngineOptions& options) {
  std::string text = Printable(model.name.empty() ? model.file : model.name);
  text +=
      " (" + (model.architecture.empty() ? "?" : Printable(model.architecture)) + "), context " +
      std::to_string(options.context) + ", " + std::to_string(options.sequences) +
      (options.sequences == 1 ? " sequence" : " sequences") + ", ubatch " +
      std::to_string(options.ubatch) + ", keys and values " + std::string(NameOf(options.kv_type));
  return Paragraph(0, text);
}

std::string RowText(std::string_view row, const std::string& size, std::string_view how) {
  return Hanging("    " + Left(row, 18) + Right(size, 13), 37, how);
}

std::string DeviceText(const DeviceFit& device) {
  std::string title = "  " + Printable(device.id);
  if (!device.name.empty()) title += ": " + Printable(device.name);
  if (!device.used && !device.beside) title += " (the host's share)";
  std::string text = "\n" + Hanging(title, kTextColumns + 1, "");
  for (const FitRow& row : device.rows) {
    std::string how = Printable(row.how);
    if (row.row == "weights.expanded" && row.disk_bytes) {
      how += ", " + SizeText(*row.disk_bytes) + " in the file";
    }
    text += RowText(row.row, SizeText(row.bytes), how);
  }
  std::string need = "in all";
  if (device.largest.bytes > 0) {
    need += "; the largest piece is " + device.largest.row + ", " + SizeText(device.largest.bytes);
  }
  text += RowText("need", SizeText(device.need_bytes), need);
  text += RowText("budget", SizeOr(device.budget.bytes), Printable(device.budget.source));
  if (device.left_bytes) text += RowText("left", SizeText(*device.left_bytes), "of the budget");
  if (device.budget.live.bytes) {
    text += RowText("free now", SizeText(*device.budget.live.bytes),
                    Printable(device.budget.live.source));
  }
  if (device.taken_out_tensors > 0) {
    text += RowText("elsewhere", SizeText(device.taken_out_bytes),
                    std::to_string(device.taken_out_tensors) + " matrices that others multiply");
  }
  return text;
}

std::string PoolText(const PoolFit& pool) {
  std::string names;
  for (const std::string& id : pool.devices) names += (names.empty() ? "" : " and ") + id;
  std::string text = names + " share their memory: together " + SizeText(pool.need_bytes) + " of " +
                     SizeOr(pool.budget_bytes);
  if (pool.left_bytes) text += ", " + SizeText(*pool.left_bytes) + " left";
  return "\n" + Paragraph(2, Printable(text));
}

std::string FileText(const FileAccount& file) {
  std::string text = std::to_string(file.bytes) + " bytes: header " +
                     std::to_string(file.header_bytes) + ", kept " +
                     std::to_string(file.kept_bytes);
  const auto part = [&](const char* name, std::uint64_t bytes) {
    if (bytes > 0) text += std::string(", ") + name + " " + std::to_string(bytes);
  };
  part("decoded", file.expanded_bytes);
  part("copied to slots", file.streamed_bytes);
  part("of no use", file.unused_bytes);
  part("computed", file.computed_bytes);
  part("padding", file.padding_bytes);
  return "\n" + Hanging("  file", 8, text);
}

// "with draft NAME on cuda:0 and projector NAME on cpu"; empty: with neither.
std::string BesideText(const Fit& fit, const FitExtras& extras) {
  std::string text;
  const auto add = [&](const char* what, const std::optional<FitModel>& model,
                       const std::string& device) {
    if (!model) return;
    text += std::string(text.empty() ? "with " : " and ") + what + " " +
            Printable(model->name.empty() ? model->file : model->name);
    if (!device.empty()) text += " on " + Printable(device);
  };
  add("draft", extras.draft, fit.draft_device);
  add("projector", extras.projector, fit.mmproj_device);
  return text.empty() ? text : Paragraph(0, text);
}

std::string Trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string CurveText(const Fit& fit, const std::vector<FitCurve>& curves) {
  std::string text = "\nmemory against context, of the devices that the model uses\n";
  std::string line = Right("context", 12);
  std::vector<std::uint64_t> contexts;
  for (const FitCurve& curve : curves) {
    line += Right(NameOf(curve.kv_type), 15);
    if (contexts.empty()) {
      for (const FitCurve::Point& point : curve.points) contexts.push_back(point.context);
    }
  }
  text += Trimmed(line);
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    line = Right(std::to_string(contexts[i]), 12);
    for (const FitCurve& curve : curves) {
      if (i >= curve.points.size()) {
        line += Right("-", 15);
        continue;
      }
      const FitCurve::Point& point = curve.points[i];
      std::uint64_t need = 0;
      for (std::size_t d = 0; d < point.need_bytes.size(); ++d) {
        if (fit.devices[d].used || fit.devices[d].beside) need += point.need_bytes[d];
      }
      const char* mark = point.verdict == FitVerdict::kFits         ? "  "
                         : point.verdict == FitVerdict::kDoesNotFit ? " x"
                                                                    : " p";
      line += Right(SizeText(need) + mark, 15);
    }
    text += Trimmed(line);
  }
  line = Right("most", 12);
  for (const FitCurve& curve : curves) {
    line += Right(curve.max_context ? std::to_string(*curve.max_context) + "  " : "-  ", 15);
  }
  text += Trimmed(line);
  text += "  x: does not fit; p: by paging alone; most: the largest context that fits\n";
  for (const FitCurve& curve : curves) {
    if (!curve.refused.empty()) text += Paragraph(2, Printable(curve.refused));
  }
  return text;
}

std::string MaxText(const FitModel& model, const FitExtras& extras) {
  if (!extras.max_context) return Paragraph(2, "no context fits, however small");
  std::string text = "the largest context that fits: " + std::to_string(*extras.max_context);
  if (model.context_train > 0) {
    text += " (the model was trained for " + std::to_string(model.context_train) + ")";
  }
  return Paragraph(2, text);
}

}  // namespace

std::string FitTable(const FitModel& model, const Fit& fit, const FitExtras& extras) {
  std::string text = Heading(model, fit.options) + BesideText(fit, extras);
  text += Paragraph(0, Printable(VerdictText(fit)));
  if (fit.chosen_context && !fit.chosen_context->why.empty()) {
    text += Paragraph(0, Printable(ReducedText(*fit.chosen_context)));
  }
  if (!fit.remedies.empty()) text += "\nwhat changes that, each tried:\n";
  for (const Remedy& remedy : fit.remedies) {
    text += Paragraph(2, Printable(RemedyText(remedy, fit)));
  }
  for (const DeviceFit& device : fit.devices) text += DeviceText(device);
  for (const PoolFit& pool : fit.pools) text += PoolText(pool);
  if (fit.file.bytes > 0) text += FileText(fit.file);
  if (extras.max_asked) text += "\n" + MaxText(model, extras);
  if (!extras.curves.empty()) text += CurveText(fit, extras.curves);
  if (!fit.warnings.empty()) text += "\n";
  for (const FitWarning& warning : fit.warnings) {
    text += Hanging("  warning:", 11, Printable(warning.message));
  }
  return text;
}

std::string ProfilesTable(const FitModel& model, const std::vector<ProfileFit>& fits) {
  std::string text = Heading(model, fits.front().fit.options) + "\n";
  text += Left("profile", 23) + Left("device", 8) + Right("need", 11) + Right("budget", 12) + "  " +
          "verdict\n";
  for (const ProfileFit& one : fits) {
    const DeviceFit* device = FindDeviceFit(one.fit, one.device);
    const std::string head = Left(Printable(one.profile), 22) + " " +
                             Left(Printable(one.device), 8) +
                             Right(device ? SizeText(device->need_bytes) : "?", 11) +
                             Right(device ? SizeOr(device->budget.bytes) : "?", 12);
    std::string answer(NameOf(one.fit.verdict));
    std::replace(answer.begin(), answer.end(), '_', ' ');
    if (one.fit.paged_bytes) answer += ", " + SizeText(*one.fit.paged_bytes) + " a token";
    if (one.fit.verdict == FitVerdict::kDoesNotFit && one.fit.deficit_where != one.device) {
      answer += ": " + one.fit.deficit_where;
    }
    text += Hanging(head, 56, answer);
  }
  return text;
}

}  // namespace vt::cli
