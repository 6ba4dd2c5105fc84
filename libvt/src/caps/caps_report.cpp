#include "caps/caps_report.h"

#include <algorithm>
#include <type_traits>

#include "ops/cases/op_cases.h"
#include "ops/resolve.h"

namespace vt {
namespace {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<OpCase> AskableCases(std::string_view op) {
  std::vector<OpCase> cases = CasesOf(op);
  std::erase_if(cases, [](const OpCase& one) { return one.refused; });
  return cases;
}

template <class Args>
struct Asked {
  const Args* args;
  std::string type;
  std::string_view activations;
};

template <class Args>
std::vector<Asked<Args>> AskedOf(const std::vector<OpCase>& cases) {
  std::vector<Asked<Args>> asked;
  for (const OpCase& one : cases) {
    const Args* args = std::get_if<Args>(&one.call);
    if (args) asked.push_back({args, TypeOf(one.call), ActivationsOf(one.call)});
  }
  return asked;
}

template <class Args>
void AddTypes(const Registry& registry, const Kernel<Args>& kernel,
              const std::vector<Asked<Args>>& asked, CapsRow& row) {
  const DeviceInfo ideal = IdealDevice(kernel.device);
  for (const Asked<Args>& one : asked) {
    if (Contains(row.types, one.type) && Contains(row.activations, one.activations)) continue;
    if (AskKernel(registry, ideal, kernel, *one.args, {}).refusal != Refusal::kNone) continue;
    if (!Contains(row.types, one.type)) row.types.push_back(one.type);
    if (!Contains(row.activations, one.activations)) row.activations.emplace_back(one.activations);
  }
}

// Why `kernel` runs none of its cases on `device`; kNone when it runs one.
template <class Args>
Verdict JudgeOn(const Registry& registry, const DeviceInfo& device, const Kernel<Args>& kernel,
                const std::vector<Asked<Args>>& asked) {
  Verdict verdict = JudgeRow(ViewOf(kernel), device, {});
  if (verdict.refusal != Refusal::kNone || device.usable_kernels) return verdict;
  std::vector<Verdict> answers;
  for (const Asked<Args>& one : asked) {
    answers.push_back(AskKernel(registry, device, kernel, *one.args, {}));
    if (answers.back().refusal == Refusal::kNone) return answers.back();
  }
  return answers.empty() ? verdict : NearestCause(answers);
}

std::string BackendReason(const Machine& machine, DeviceKind kind) {
  for (const BackendInfo& backend : machine.backends) {
    if (backend.kind == kind && !backend.reason.empty()) return ": " + backend.reason;
  }
  return "";
}

template <class Args>
CapsRow RowOf(const Registry& registry, const Machine& machine, const Kernel<Args>& kernel,
              const std::vector<Asked<Args>>& asked, const CapsFilters& filters) {
  CapsRow row{.op = Args::kOp,
              .kernel = kernel.name,
              .kind = kernel.device,
              .tier = kernel.tier,
              .priority = kernel.priority,
              .needs = kernel.needs};
  AddTypes(registry, kernel, asked, row);
  // What this build lacks says nothing about a machine that is only described.
  const bool described = std::any_of(machine.devices.begin(), machine.devices.end(),
                                     [](const DeviceInfo& device) { return device.described; });
  const bool counts = kernel.built() || described;
  row.state = counts ? CapsRow::State::kUnusable : CapsRow::State::kNotBuilt;
  for (const DeviceInfo& device : machine.devices) {
    if (device.kind != kernel.device || !filters.WantsDevice(device.id)) continue;
    const Verdict verdict = JudgeOn(registry, device, kernel, asked);
    if (verdict.refusal == Refusal::kNone) {
      row.devices.push_back(device.id);
    } else if (row.reason.empty()) {
      row.reason = verdict.reason;
    }
  }
  if (!row.devices.empty()) {
    row.state = CapsRow::State::kUsable;
    row.reason.clear();
  } else if (row.state == CapsRow::State::kNotBuilt) {
    row.reason =
        "compiled out of this build: configure with " + std::string(ConfigureFlag(kernel.device));
  } else if (row.reason.empty()) {
    row.reason = "no " + std::string(NameOf(kernel.device)) + " device" +
                 BackendReason(machine, kernel.device);
  }
  return row;
}

template <class... Args>
void AddRows(const Registry& registry, CapsReport& report, const OpList<Args...>*) {
  const auto add_op = [&]<class One>(const One*) {
    if (!report.filters.WantsOp(One::kOp)) return;
    const std::vector<OpCase> cases = AskableCases(One::kOp);
    const std::vector<Asked<One>> asked = AskedOf<One>(cases);
    std::vector<CapsRow> rows;
    for (const Kernel<One>& kernel : registry.Rows<One>()) {
      if (!report.filters.WantsKind(kernel.device)) continue;
      CapsRow row = RowOf(registry, report.machine, kernel, asked, report.filters);
      const auto wanted = [&](const std::string& type) { return report.filters.WantsType(type); };
      if (std::any_of(row.types.begin(), row.types.end(), wanted) ||
          report.filters.dtypes.empty()) {
        rows.push_back(std::move(row));
      }
    }
    std::sort(rows.begin(), rows.end(), [](const CapsRow& a, const CapsRow& b) {
      return std::tuple(a.kind, -a.priority, a.kernel) < std::tuple(b.kind, -b.priority, b.kernel);
    });
    std::move(rows.begin(), rows.end(), std::back_inserter(report.rows));
  };
  (add_op(static_cast<const Args*>(nullptr)), ...);
}

std::string_view KindOf(std::string_view id) { return id.substr(0, id.find(':')); }

}  // namespace

std::string_view NameOf(VerifyFigures::State state) {
  switch (state) {
    case VerifyFigures::State::kOk:
      return "ok";
    case VerifyFigures::State::kWrong:
      return "wrong";
    case VerifyFigures::State::kError:
      return "error";
    case VerifyFigures::State::kCrash:
      return "crash";
    case VerifyFigures::State::kHang:
      return "hang";
  }
  return "?";
}

std::string_view NameOf(CapsRow::State state) {
  switch (state) {
    case CapsRow::State::kUsable:
      return "usable";
    case CapsRow::State::kUnusable:
      return "unusable";
    case CapsRow::State::kNotBuilt:
      return "not_built";
  }
  return "?";
}

bool CapsFilters::WantsOp(std::string_view op) const { return ops.empty() || Contains(ops, op); }

bool CapsFilters::WantsType(std::string_view type) const {
  const std::size_t slash = type.find('/');
  return dtypes.empty() || Contains(dtypes, type.substr(0, slash)) ||
         (slash != std::string_view::npos && Contains(dtypes, type.substr(slash + 1)));
}

bool CapsFilters::WantsDevice(std::string_view id) const {
  return devices.empty() || Contains(devices, id) || Contains(devices, KindOf(id));
}

bool CapsFilters::WantsKind(DeviceKind kind) const {
  return devices.empty() || std::any_of(devices.begin(), devices.end(),
                                        [&](const auto& id) { return KindOf(id) == NameOf(kind); });
}

CapsReport MakeCapsReport(const Registry& registry, const Machine& machine,
                          const CapsFilters& filters) {
  CapsReport report{machine, {}, filters, {}};
  AddRows(registry, report, static_cast<const AllOps*>(nullptr));
  std::erase_if(report.machine.devices,
                [&](const DeviceInfo& device) { return !filters.WantsDevice(device.id); });
  return report;
}

DeviceInfo IdealDevice(DeviceKind kind) {
  DeviceInfo device;
  device.id = NameOf(kind);
  device.kind = kind;
  device.features = ~0u;
  device.described = true;
  return device;
}

std::string TypesText(const std::vector<std::string>& types) {
  std::vector<std::string_view> alone;
  std::size_t pairs = 0;
  for (const std::string& type : types) {
    if (type.find('/') == std::string::npos) {
      alone.push_back(type);
    } else {
      ++pairs;
    }
  }
  const bool every_pair = pairs > 0 && pairs == alone.size() * (alone.size() - 1);
  std::string text;
  const auto add = [&](std::string_view name) {
    text.append(text.empty() ? "" : ", ").append(name);
  };
  for (const std::string_view type : alone) add(type);
  if (every_pair) return text + " (any pair)";
  for (const std::string& type : types) {
    if (type.find('/') != std::string::npos) add(type);
  }
  return text;
}

}  // namespace vt
