#include "cli/caps_markdown.h"

#include <algorithm>

#include "caps/caps_report.h"
#include "caps/op_meanings.h"

namespace vt::cli {
namespace {

// A machine with one device of each kind, each with everything: what is refused there was never
// written.
CapsReport IdealReport(const Registry& registry) {
  Machine machine;
  for (const DeviceKind kind : kDeviceKinds) machine.devices.push_back(IdealDevice(kind));
  return MakeCapsReport(registry, machine);
}

std::string NeedsText(const CapsRow& row) {
  std::string text;
  for (const std::string_view name : FeatureNames(row.needs)) {
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text.empty() ? "-" : text;
}

std::string TakesText(const CapsRow& row) {
  if (row.types.empty()) return "nothing: " + row.reason;
  const bool q15 =
      std::find(row.activations.begin(), row.activations.end(), "q15") != row.activations.end();
  return TypesText(row.types) + (q15 ? ", by q15 activations" : "");
}

}  // namespace

std::string OpsMarkdown(const Registry& registry) {
  const CapsReport report = IdealReport(registry);
  std::string text =
      "# Ops and their kernels\n\n"
      "Made by `vt-caps --markdown` from the op table. `vt-caps` says which of these kernels a "
      "machine can use.\n\n"
      "For each call the kernel with the highest priority that takes it runs. Tiers: `native` is "
      "written for the device, `composed` built from other ops of the same device, `reference` "
      "plain scalar code.\n\n";
  text += "| op | meaning |\n|---|---|\n";
  for (const std::string_view op : OpNames()) {
    text.append("| [").append(op).append("](#").append(op).append(") | ");
    text.append(MeaningOf(op)).append(" |\n");
  }
  for (const std::string_view op : OpNames()) {
    text.append("\n## ").append(op).append("\n\n").append(MeaningOf(op)).append("\n\n");
    text += "| kernels | tier | priority | needs | types |\n|---|---|---|---|---|\n";
    // Rows that differ in their kind of device alone share a line.
    std::vector<std::pair<std::string, std::string>> lines;  // what they say, the names
    for (const CapsRow& row : report.rows) {
      if (row.op != op) continue;
      const std::string says = std::string(NameOf(row.tier)) + " | " +
                               std::to_string(row.priority) + " | " + NeedsText(row) + " | " +
                               TakesText(row);
      const auto same = std::find_if(lines.begin(), lines.end(),
                                     [&](const auto& line) { return line.first == says; });
      if (same == lines.end()) {
        lines.emplace_back(says, "`" + row.kernel + "`");
      } else {
        same->second += ", `" + row.kernel + "`";
      }
    }
    for (const auto& [says, names] : lines) text.append("| " + names + " | " + says + " |\n");
  }
  return text;
}

}  // namespace vt::cli
