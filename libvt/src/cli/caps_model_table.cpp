// The report on a model as a table for people.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/text_layout.h"
#include "caps/model_shapes.h"
#include "cli/caps_model.h"

namespace vt::cli {
namespace {

constexpr std::size_t kOpWidth = 18, kTypeWidth = 11, kShapeWidth = 13, kCallsWidth = 5;
constexpr std::size_t kStateWidth = 9;
constexpr std::size_t kBeforeKernel =
    kOpWidth + kTypeWidth + kShapeWidth + kCallsWidth + kStateWidth + 5;

std::string Trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

std::string ShapeText(const NeededGroup& need) {
  if (need.calls.empty()) return "";
  const OpShape shape = ShapeOf(need.calls.front().call);
  std::string text;
  for (const NamedSize& size : shape.sizes) {
    if (size.name == "rows") continue;
    text.append(text.empty() ? "" : "x").append(std::to_string(size.value));
  }
  return text;
}

std::string TypeText(const NeededGroup& need) {
  if (need.calls.empty()) return "";
  const OpShape shape = ShapeOf(need.calls.front().call);
  return shape.type.empty() ? std::string(shape.form) : shape.type;
}

std::string Row(std::string_view op, std::string_view type, std::string_view shape,
                std::string_view calls, std::string_view state, std::string_view kernel) {
  return Trimmed(Left(op, kOpWidth) + " " + Left(type, kTypeWidth) + " " +
                 Left(shape, kShapeWidth) + " " + Right(calls, kCallsWidth) + " " +
                 Left(state, kStateWidth) + " " + Left(kernel, kTextColumns - kBeforeKernel));
}

std::string Heading(const ModelReport& report) {
  std::string text = Printable(report.name.empty() ? report.file : report.name);
  text += " (" + Printable(report.architecture.empty() ? "?" : report.architecture) + "), ";
  text += std::to_string(report.bytes) + " bytes, context " +
          std::to_string(report.options.context) + ", keys and values " +
          std::string(NameOf(report.options.kv_type)) + (report.options.exact ? ", exact" : "");
  std::string heading = Wrapped(text);
  if (!report.from_forward) {
    heading += Wrapped("ops by the names of the tensors: " + Printable(report.unknown_reason));
  }
  return heading;
}

std::string DeviceText(const ModelReport& report, std::size_t index) {
  const DeviceVerdict& device = report.devices[index];
  std::string title = device.info.id;
  if (!device.info.name.empty()) title += ": " + Printable(device.info.name);
  if (!device.info.arch.empty()) title += " (" + Printable(device.info.arch) + ")";
  const std::size_t groups = device.native + device.composed + device.reference + device.missing;
  title += "; of " + std::to_string(groups) + " ops native " + std::to_string(device.native) +
           ", composed " + std::to_string(device.composed) + ", reference " +
           std::to_string(device.reference) + ", missing " + std::to_string(device.missing);
  if (!device.built) title += "; judged as if this build had it (" + device.configure + ")";
  std::string text = "\n" + Wrapped(title);
  text += Row("OP", "TYPE", "SHAPE", "CALLS", "STATE", "KERNEL");
  std::vector<std::string> reasons;
  std::set<std::string> given;
  for (const AnsweredGroup& group : report.groups) {
    const NeededGroup& need = group.need;
    std::vector<const GroupAnswer*> answers;
    for (const GroupAnswer& answer : group.answers) {
      if (answer.device == index) answers.push_back(&answer);
    }
    if (answers.empty()) continue;
    const bool one = answers.size() == 1;
    text += Row(need.op, TypeText(need), ShapeText(need), std::to_string(need.count),
                one ? StateOf(*answers[0]) : "", one ? answers[0]->kernel : "");
    for (const GroupAnswer* answer : answers) {
      if (!one) {
        const std::string step = "  step of " + std::to_string(answer->tokens.front());
        text += Row(step, "", "", "", StateOf(*answer), answer->kernel);
      }
      if (answer->tier) continue;
      const std::string reason = need.op + ": " + Printable(answer->reason);
      if (given.insert(reason).second) reasons.push_back(reason);
    }
  }
  for (const std::string& reason : reasons) text += Wrapped(reason);
  return text;
}

}  // namespace

std::string ModelTable(const ModelReport& report) {
  std::string text = Heading(report);
  for (std::size_t i = 0; i < report.devices.size(); ++i) text += DeviceText(report, i);
  if (!report.left.empty()) {
    text += "\ntensors that no op reads:\n";
    for (const LeftTensor& tensor : report.left) {
      text += "  " + Wrapped(Printable(tensor.name) + ": " + tensor.reason, 2, 4);
    }
  }
  text += "\n";
  if (!report.nowhere.empty()) {
    text += Wrapped("no: no device runs everything at " + Printable(Joined(report.nowhere)));
  } else if (!report.yes()) {
    text += Wrapped("no: " + std::to_string(report.below) + " answers are below " +
                    std::string(NameOf(*report.require)));
  } else {
    text += report.require ? "yes: nothing is below " + std::string(NameOf(*report.require)) + "\n"
                           : "yes: every op runs on some device\n";
  }
  return text;
}

}  // namespace vt::cli
