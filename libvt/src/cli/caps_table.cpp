#include "cli/caps_table.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/size_text.h"
#include "base/text_layout.h"
#include "caps/op_meanings.h"

namespace vt::cli {
namespace {

constexpr std::size_t kFactColumn = 12;
constexpr std::size_t kTextColumn = 36;

template <class List>
std::string Joined(const List& names, std::string_view separator = ", ") {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : separator).append(name);
  return text;
}

std::string MemoryText(const DeviceInfo& device) {
  const auto part = [](const MemoryFact& fact) {
    return fact.bytes ? SizeText(*fact.bytes) : std::string("unknown");
  };
  std::string text = part(device.memory_total) + " in all, " + part(device.memory_available) +
                     " available, " + part(device.memory_usable()) + " usable";
  if (device.memory_limit.bytes) text += ", limit " + part(device.memory_limit);
  if (device.memory_ceiling.bytes) text += ", ceiling " + part(device.memory_ceiling);
  if (device.memory_reserve.bytes) {
    text += " (" + part(device.memory_reserve) + " left to others)";
  }
  return text;
}

std::string CoresText(const DeviceInfo& device) {
  const CpuTopology& topology = device.topology;
  std::string text = std::to_string(device.cores) + " threads worth starting";
  if (topology.cores && topology.threads) {
    text += ", of " + std::to_string(*topology.cores) + " cores with " +
            std::to_string(*topology.threads) + " threads";
  }
  if (topology.quota_cpus.value) {
    text += ", CPU quota " + ShortNumber(*topology.quota_cpus.value);
  }
  return text;
}

std::string DeviceText(const DeviceInfo& device) {
  std::string name = device.name.empty() ? "unknown name" : Printable(device.name);
  if (!device.arch.empty()) name += " (" + Printable(device.arch) + ")";
  std::string text = Hanging("  " + Printable(device.id), kFactColumn, name);
  if (device.kind == DeviceKind::kCpu) text += Hanging("", kFactColumn, CoresText(device));
  text += Hanging("", kFactColumn, MemoryText(device));
  if (device.features != 0) {
    text += Hanging("", kFactColumn, "features: " + Joined(FeatureNames(device.features)));
  }
  std::vector<std::string> absent;
  for (const FeatureFact& fact : device.feature_facts) {
    if (fact.state == FeatureFact::State::kRefused) {
      text += Hanging("", kFactColumn,
                      "refused: " + Printable(fact.name) + " (" + Printable(fact.reason) + ")");
    }
    if (fact.state == FeatureFact::State::kAbsent) absent.push_back(Printable(fact.name));
  }
  if (!absent.empty()) text += Hanging("", kFactColumn, "absent: " + Joined(absent));
  if (device.kept_quant_types) {
    std::vector<std::string_view> kept;
    for (const DType type : *device.kept_quant_types) kept.push_back(NameOf(type));
    text += Hanging("", kFactColumn,
                    "holds of the block types: " + (kept.empty() ? "none" : Joined(kept)));
  }
  if (!device.lacks_ops.empty()) {
    text += Hanging("", kFactColumn, "lacks ops: " + Printable(Joined(device.lacks_ops)));
  }
  return text;
}

std::string BackendText(const BackendInfo& backend) {
  std::string text = backend.registered ? "has devices" : "none";
  if (!backend.reason.empty()) text += ": " + Printable(backend.reason);
  if (!backend.archs.empty()) text += " (built for " + Printable(Joined(backend.archs)) + ")";
  return Hanging("  " + std::string(NameOf(backend.kind)), kFactColumn, text);
}

// What a row takes and where, or why not.
std::string AnswerText(const CapsRow& row) {
  if (row.state != CapsRow::State::kUsable) return "no: " + Printable(row.reason);
  std::string text = TypesText(row.types);
  if (std::find(row.activations.begin(), row.activations.end(), "q15") != row.activations.end()) {
    text += " (q15 activations)";
  }
  if (row.devices.size() > 1 || row.kind != DeviceKind::kCpu) {
    text += " on " + Joined(row.devices);
  }
  return Printable(text);
}

// The rows of an op. A long answer is given once.
class OpText {
 public:
  std::string Row(const CapsRow& row) {
    std::string head = "    " + Printable(row.kernel);
    head.resize(std::max<std::size_t>(head.size() + 1, kTextColumn - 10), ' ');
    head.append(NameOf(row.tier));
    const std::string answer = AnswerText(row);
    const auto [before, first] = seen_.emplace(answer, row.kernel);
    if (first || answer.size() <= kTextColumns - kTextColumn) {
      return Hanging(head, kTextColumn, answer);
    }
    return Hanging(head, kTextColumn, "as " + Printable(before->second));
  }

 private:
  std::map<std::string, std::string> seen_;
};

}  // namespace

std::string ReportTable(const CapsReport& report) {
  std::string text = "devices\n";
  std::set<DeviceKind> present;
  for (const DeviceInfo& device : report.machine.devices) {
    text += DeviceText(device);
    present.insert(device.kind);
  }
  if (report.machine.devices.empty()) text += "  none\n";
  for (const UndrivenDevice& device : report.undriven) {
    text += Hanging("  -", kFactColumn, Printable(device.name + ": " + device.reason));
  }
  text += "\nbackends\n";
  for (const BackendInfo& backend : report.machine.backends) text += BackendText(backend);

  text += "\nkernels, best first, and the types they take\n";
  std::map<DeviceKind, std::size_t> hidden;
  std::string_view op;
  OpText rows_of_op;
  for (const CapsRow& row : report.rows) {
    const bool asked = !report.filters.devices.empty();
    if (!asked && !present.contains(row.kind)) {
      ++hidden[row.kind];
      continue;
    }
    if (row.op != op) {
      op = row.op;
      rows_of_op = OpText();
      text +=
          Hanging("  " + Printable(op), std::max<std::size_t>(op.size() + 4, 14), MeaningOf(op));
    }
    text += rows_of_op.Row(row);
  }
  if (op.empty()) text += "  none\n";
  if (!hidden.empty()) {
    std::string kinds;
    std::size_t rows = 0;
    for (const auto& [kind, count] : hidden) {
      kinds.append(kinds.empty() ? "" : ", ").append(NameOf(kind));
      rows += count;
    }
    text += "\n" + Hanging("", 0,
                           std::to_string(rows) + " more kernels are for " + kinds +
                               ", which this machine does not have (--device KIND or "
                               "--json lists them).");
  }
  return text;
}

std::string VerifyTable(const CapsReport& report) {
  std::string text =
      "kernel                  device  state  cases max error    bound     NMSE    GB/s\n";
  std::string_view op;
  std::size_t runs = 0, bad = 0;
  for (const CapsRow& row : report.rows) {
    for (const VerifyFigures& figures : row.verify) {
      ++runs;
      if (row.op != op) text += row.op + "\n";
      op = row.op;
      text +=
          "  " + Left(row.kernel, 22) + Left(figures.device, 8) + Left(NameOf(figures.state), 6);
      if (figures.state == VerifyFigures::State::kCrash ||
          figures.state == VerifyFigures::State::kHang) {
        text += "\n";
      } else {
        text += Right(std::to_string(figures.cases), 6) +
                Right(ShortNumber(figures.max_error), 10) +
                Right(figures.bound > 0 ? ShortNumber(figures.bound) : "exact", 9) +
                Right(ShortNumber(figures.nmse), 9) +
                Right(figures.gb_per_s ? ShortNumber(*figures.gb_per_s) : "-", 8) + "\n";
      }
      if (figures.state != VerifyFigures::State::kOk) {
        ++bad;
        text += Hanging("", 6, Printable(figures.reason));
      }
    }
  }
  text += std::to_string(runs) + " kernels run, " +
          (bad == 0 ? "every one within its bound" : std::to_string(bad) + " not right") + "\n";
  return text;
}

std::string DiffTable(const CapsDiff& diff, const std::string& a, const std::string& b) {
  std::string text = "a: " + Printable(a) + "\nb: " + Printable(b) + "\n";
  text += diff.same() ? "Both machines can run the same.\n" : "";
  if (!diff.devices.empty()) text += "\ndevices\n";
  for (const CapsDiff::Device& device : diff.devices) {
    const std::string head = "  " + Printable(device.id);
    if (!device.in_a || !device.in_b) {
      text += Hanging(head, kFactColumn, device.in_a ? "only a has it" : "only b has it");
    }
    if (!device.features_only_a.empty()) {
      text += Hanging(head, kFactColumn, "only a: " + Joined(device.features_only_a));
    }
    if (!device.features_only_b.empty()) {
      text += Hanging(head, kFactColumn, "only b: " + Joined(device.features_only_b));
    }
  }
  // Kernels and types of one op and difference share a line.
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](const std::string& head, const std::string& item) {
    if (lines.empty() || lines.back().first != head) lines.emplace_back(head, "");
    std::string& items = lines.back().second;
    items.append(items.empty() ? "" : ", ").append(item);
  };
  const auto flush = [&](const char* title) {
    if (!lines.empty()) text += std::string("\n") + title + "\n";
    for (const auto& [head, items] : lines) text += Hanging("  " + head, 46, items);
    lines.clear();
  };
  for (const CapsDiff::Kernel& row : diff.kernels) {
    add(Printable(row.device) + " only " + (row.only_a ? "a" : "b") + ": " + Printable(row.op),
        Printable(row.kernel));
  }
  flush("kernels");
  const auto tier = [](const std::optional<Tier>& value) {
    return std::string(value ? NameOf(*value) : "nothing");
  };
  for (const CapsDiff::Type& type : diff.types) {
    add(Printable(type.device) + " " + tier(type.a) + " -> " + tier(type.b) + ": " +
            Printable(type.op),
        Printable(type.type));
  }
  flush("types: best tier in a -> in b");
  const auto bytes = [](const std::optional<std::uint64_t>& value) {
    return value ? SizeText(*value) : std::string("unknown");
  };
  for (const CapsDiff::Memory& memory : diff.memory) {
    add(Printable(memory.device) + " " + memory.fact, bytes(memory.a) + " -> " + bytes(memory.b));
  }
  flush("memory, which does not count as a difference");
  return text;
}

}  // namespace vt::cli
