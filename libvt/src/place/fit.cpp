#include "place/fit.h"

#include <algorithm>

#include "base/size_text.h"
#include "ops/resolve.h"
#include "place/fit_search.h"
#include "plan/placement.h"

namespace vt {
namespace {

constexpr std::string_view kNames[] = {"fits", "fits_by_paging", "does_not_fit", "cannot_tell"};

const DeviceInfo* FindInfo(const std::vector<DeviceInfo>& devices, std::string_view id) {
  for (const DeviceInfo& device : devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

std::uint64_t DiskBytes(const GgufFile& file, int tensor) {
  return file.tensors()[static_cast<std::size_t>(tensor)].bytes;
}

// In the file, of the tensors that make up a row of weights; none: another row. `planned`: of a
// device that has weights of its own.
std::optional<std::uint64_t> DiskBytesOfRow(const GgufFile& file, const DevicePlan* planned,
                                            const MemoryRow& memory) {
  if (memory.row == kStreamedRow) return memory.predicted_bytes;  // pages of the file
  if (planned == nullptr) return std::nullopt;
  const DevicePlan& device = *planned;
  const std::string_view row = memory.row;
  std::uint64_t bytes = 0;
  if (row == "weights.expanded") {
    for (const ExpandedTensor& one : device.expanded) bytes += DiskBytes(file, one.tensor);
    return bytes;
  }
  const std::vector<KeptTensor>* list = nullptr;
  if (row == "weights.kept") list = device.host() ? &device.mapped : &device.uploaded;
  if (row == "weights.gathered") list = &device.gathered;
  if (list == nullptr) return std::nullopt;
  for (const KeptTensor& one : *list) bytes += DiskBytes(file, one.tensor);
  return bytes;
}

void AddRow(DeviceFit& device, FitRow row) {
  if (row.bytes == 0) return;
  device.need_bytes += row.bytes;
  const bool mapped = row.how == "mapped";
  if (mapped) device.mapped_bytes += row.bytes;
  const bool allocated = !mapped && row.row != "runtime" && row.row != "margin";
  if (allocated && row.bytes > device.largest.bytes) device.largest = row;
  device.rows.push_back(std::move(row));
}

void AddBeside(const std::vector<BesideRow>& beside, DeviceFit& device) {
  for (const BesideRow& row : beside) {
    if (row.device != device.id) continue;
    device.beside = true;
    device.need_bytes += row.bytes;
    device.mapped_bytes += row.mapped_bytes;
    if (row.largest_bytes > device.largest.bytes) {
      device.largest = {row.largest, row.largest_bytes, "allocated", {}};
    }
    device.rows.push_back({row.row, row.bytes, row.how, row.disk_bytes});
  }
}

void AddOverhead(const GgufFile& file, const FitRequest& request, const DeviceInfo& info,
                 DeviceFit& device) {
  const std::uint64_t more =
      request.beside.draft ? HeaderBytes(*request.beside.draft->file) : std::uint64_t{0};
  const Overhead overhead = OverheadOf(file, info, request.calibration, more);
  AddRow(device, {"runtime", overhead.runtime_bytes, overhead.runtime_how, {}});
  AddRow(device, {"margin", overhead.margin_bytes, "kept free", {}});
}

void SetBudget(const FitRequest& request, DeviceFit& device) {
  if (const Budget* budget = FindBudget(request.budgets, device.id)) {
    device.budget = *budget;
  } else {
    device.budget.device = device.id;
    device.budget.source = "unknown: no budget is given";
  }
  if (device.budget.bytes) {
    device.left_bytes = SignedDifference(*device.budget.bytes, device.need_bytes);
  }
}

void TakeOut(const GgufFile& file, const EnginePlan& plan, int index, DeviceFit& device) {
  for (std::size_t i = 0; i < plan.placement.tensors.size(); ++i) {
    const int there = plan.placement.tensors[i];
    if (there < 0 || there == index) continue;
    ++device.taken_out_tensors;
    device.taken_out_bytes += DiskBytes(file, static_cast<int>(i));
  }
}

DeviceFit DescribeDevice(const DeviceInfo& info) {
  DeviceFit device;
  device.id = info.id;
  device.kind = info.kind;
  device.name = info.name;
  return device;
}

DeviceFit FitOf(const GgufFile& file, const EnginePlan& plan, const FitRequest& request,
                const std::vector<BesideRow>& beside, std::size_t index) {
  const DevicePlan& one = plan.devices[index];
  DeviceFit device = DescribeDevice(one.device);
  device.used = one.used;
  for (const MemoryRow& row : plan.rows) {
    if (row.device != device.id) continue;
    AddRow(device, {row.row, row.predicted_bytes, row.how, DiskBytesOfRow(file, &one, row)});
  }
  AddBeside(beside, device);
  if (one.used || one.host() || device.beside) AddOverhead(file, request, one.device, device);
  if (one.used) TakeOut(file, plan, static_cast<int>(index), device);
  SetBudget(request, device);
  return device;
}

// A device that the plan has no part of the model on, if it is not listed yet: the host, which has
// a share of any run, or one for what runs beside the model.
void AddOther(const GgufFile& file, const EnginePlan& plan, const FitRequest& request,
              const std::vector<BesideRow>& beside, std::string_view id, Fit& fit) {
  for (const DeviceFit& device : fit.devices) {
    if (device.id == id) return;
  }
  const DeviceInfo* info = FindInfo(request.devices, id);
  if (info == nullptr) return;
  DeviceFit device = DescribeDevice(*info);
  for (const MemoryRow& row : plan.rows) {
    if (row.device != device.id) continue;
    AddRow(device, {row.row, row.predicted_bytes, row.how, DiskBytesOfRow(file, nullptr, row)});
  }
  AddBeside(beside, device);
  AddOverhead(file, request, *info, device);
  SetBudget(request, device);
  fit.devices.push_back(std::move(device));
}

const std::string& HomeOf(const EnginePlan& plan) {
  return plan.placement.devices[static_cast<std::size_t>(plan.placement.output)];
}

void AddPool(Fit& fit) {
  PoolFit pool;
  bool shared = false;
  for (const DeviceFit& device : fit.devices) {
    const bool host = device.kind == DeviceKind::kCpu;
    if (!host && !(device.budget.shares_host && device.need_bytes > 0)) continue;
    shared = shared || !host;
    pool.devices.push_back(device.id);
    pool.need_bytes += device.need_bytes;
    pool.mapped_bytes += device.mapped_bytes;
    if (host) pool.budget_bytes = device.budget.bytes;
  }
  if (!shared || pool.devices.size() < 2) return;
  if (pool.budget_bytes) {
    pool.left_bytes = SignedDifference(*pool.budget_bytes, pool.need_bytes);
  }
  fit.pools.push_back(std::move(pool));
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "+") + name;
  return text;
}

// Everywhere that something is measured against a budget.
struct Place {
  std::string where;
  std::uint64_t need = 0;
  std::uint64_t mapped = 0;
  std::optional<std::uint64_t> budget;
};

std::vector<Place> PlacesOf(const Fit& fit) {
  std::vector<Place> places;
  for (const DeviceFit& device : fit.devices) {
    places.push_back({device.id, device.need_bytes, device.mapped_bytes, device.budget.bytes});
  }
  for (const PoolFit& pool : fit.pools) {
    places.push_back({Joined(pool.devices), pool.need_bytes, pool.mapped_bytes, pool.budget_bytes});
  }
  return places;
}

void SetVerdict(Fit& fit) {
  bool exceeded = false, refused = false;
  std::uint64_t room = UINT64_MAX;  // for mapped pages
  for (const Place& place : PlacesOf(fit)) {
    if (!place.budget) continue;
    const std::int64_t deficit = SignedDifference(place.need, *place.budget);
    const std::uint64_t held = place.need - place.mapped;
    const bool refuses = held > *place.budget;
    // What paging cannot help is scarcer than what it can.
    if (!fit.deficit_bytes || (refuses && !refused) ||
        (refuses == refused && deficit > *fit.deficit_bytes)) {
      fit.deficit_bytes = deficit;
      fit.deficit_where = place.where;
    }
    exceeded = exceeded || deficit > 0;
    refused = refused || refuses;
    if (place.mapped > 0) room = std::min(room, *place.budget - std::min(held, *place.budget));
  }
  for (const DeviceFit& device : fit.devices) {
    if ((!device.used && !device.beside) || device.budget.bytes) continue;
    fit.missing.push_back("the memory of " + device.id + ": give --budget " + device.id +
                          "=SIZE (it needs " + SizeText(device.need_bytes) + ")");
  }
  fit.verdict = refused                ? FitVerdict::kDoesNotFit
                : !fit.missing.empty() ? FitVerdict::kCannotTell
                : exceeded             ? FitVerdict::kFitsByPaging
                                       : FitVerdict::kFits;
  if (fit.verdict == FitVerdict::kFitsByPaging) fit.paged_bytes = PagedPerToken(fit.reads, room);
  if (fit.verdict != FitVerdict::kCannotTell) fit.missing.clear();
}

void AddWarnings(const ModelSpec& spec, Fit& fit) {
  for (const DeviceFit& device : fit.devices) {
    const MemoryFact& live = device.budget.live;
    const std::uint64_t held = device.need_bytes;
    if (live.bytes && held > *live.bytes) {
      fit.warnings.push_back({"live_memory_short", device.id,
                              device.id + " has " + SizeText(*live.bytes) + " free right now (" +
                                  live.source + "), and the need is " + SizeText(held)});
    }
  }
  if (!fit.mmproj_device.empty()) {
    fit.warnings.push_back({"projector_not_run", fit.mmproj_device,
                            "vt does not run projectors: the row mmproj is for servers that do, "
                            "and has the file's tensors, not the buffers of their runs"});
  }
  const std::uint64_t context = fit.options.context;
  if (spec.context_train > 0 && context > spec.context_train) {
    fit.warnings.push_back({"context_beyond_trained", "",
                            "the context of " + std::to_string(context) +
                                " is more than the model was trained for (" +
                                std::to_string(spec.context_train) + ")"});
  }
}

// More than the device says it has: the user's word counts, and is doubted aloud.
void DoubtBudgets(const FitRequest& request, Fit& fit) {
  for (const DeviceFit& device : fit.devices) {
    const DeviceInfo* info = FindInfo(request.devices, device.id);
    const bool given = !device.budget.facts.empty() && device.budget.facts[0].name == "given";
    if (info == nullptr || !given || !info->memory_total.bytes) continue;
    if (device.budget.facts[0].bytes <= *info->memory_total.bytes) continue;
    fit.warnings.push_back({"budget_above_total", device.id,
                            "--budget gives " + device.id + " " +
                                SizeText(device.budget.facts[0].bytes) + ", and it has " +
                                SizeText(*info->memory_total.bytes) + " (" +
                                info->memory_total.source + ")"});
  }
}

}  // namespace

std::string_view NameOf(FitVerdict verdict) { return kNames[static_cast<std::size_t>(verdict)]; }

Code CodeOf(FitVerdict verdict) {
  if (verdict == FitVerdict::kFits) return Code::kOk;
  return verdict == FitVerdict::kCannotTell ? Code::kUnsupported : Code::kNo;
}

namespace {

// A quantised cell holds whole blocks of a head's values: names the tensor that makes them.
Status CheckKvHeads(const GgufFile& file, const ModelSpec& spec, DType type) {
  const DTypeInfo& info = InfoOf(type);
  if (info.block <= 1) return {};
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    if (!layer.caches()) continue;
    const LatentSpec& latent = layer.latent;
    const bool rows = layer.mixer == MixerKind::kLatent && !latent.kv_b;
    const WeightRef& keys = rows          ? latent.kv_a.weight
                            : latent.kv_b ? latent.kv_b.weight
                                          : layer.k.weight;
    const WeightRef& values = layer.v && !rows ? layer.v.weight : keys;
    const struct {
      const char* what;
      std::int64_t size;
      const WeightRef& weight;
    } heads[] = {{"keys", rows ? latent.kv_rank + latent.rope_dim : layer.key_dim, keys},
                 {"values", rows ? 0 : layer.value_dim, values},
                 {"indexer keys", rows && latent.indexer.k ? latent.indexer.dim : 0,
                  latent.indexer.k.weight}};
    for (const auto& head : heads) {
      if (head.size % info.block == 0) continue;
      const std::string tensor =
          head.weight
              ? std::string(file.tensors()[static_cast<std::size_t>(head.weight.tensor)].name)
              : "none of its own";
      return UnsupportedError("kv type " + std::string(info.name) + ": layer " + std::to_string(i) +
                              " (tensor " + tensor + ") makes " + head.what + " of " +
                              std::to_string(head.size) + " values a head, no multiple of the " +
                              std::to_string(info.block) + " in a block; use --kv-type f16");
    }
  }
  return {};
}

Result<DeviceInfo> ListedDevice(const FitRequest& request, const std::string& id) {
  if (const DeviceInfo* info = FindInfo(request.devices, id)) return *info;
  std::string known;
  for (const DeviceInfo& one : request.devices) known += (known.empty() ? "" : ", ") + one.id;
  return Status(Code::kNotFound, "device \"" + ValidUtf8(id) + "\": not there (found: " + known +
                                     "); run vt-caps to list devices");
}

Result<EnginePlan> PlanOn(const GgufFile& file, const ModelSpec& spec, const FitRequest& request,
                          const EngineOptions& options) {
  VT_RETURN_IF_ERROR(CheckKvHeads(file, spec, options.kv_type));
  std::vector<std::string> ids = {options.device};
  if (options.placement) ids = options.placement->devices;
  std::vector<DeviceInfo> devices;
  for (const std::string& id : ids) {
    VT_ASSIGN_OR_RETURN(DeviceInfo device, ListedDevice(request, id));
    devices.push_back(std::move(device));
  }
  if (options.placement) return MakePlan(file, spec, options, devices);
  EngineOptions placed = options;
  placed.placement = PlacementOn(file, spec, devices.front());
  return MakePlan(file, spec, placed, devices);
}

}  // namespace

Result<EnginePlan> PlanToFit(const GgufFile& file, const ModelSpec& spec, const FitRequest& request,
                             const EngineOptions& options) {
  if (!request.beside.draft) return PlanOn(file, spec, request, options);
  EngineOptions with = options;
  AllowGuesses(request.beside.draft->guesses, &with);
  return PlanOn(file, spec, request, with);
}

Result<std::optional<EnginePlan>> PlanDraft(const FitRequest& request, const EnginePlan& plan) {
  if (!request.beside.draft) return std::optional<EnginePlan>();
  const DraftBeside& draft = *request.beside.draft;
  const EngineOptions options =
      DraftOptions(plan.options, draft.device.empty() ? HomeOf(plan) : draft.device);
  Result<EnginePlan> made = PlanOn(*draft.file, *draft.spec, request, options);
  if (!made.ok()) return made.status().Annotate("draft model");
  return std::optional<EnginePlan>(std::move(made).value());
}

Fit JudgePlan(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan,
              const FitRequest& request, const EnginePlan* draft) {
  Fit fit;
  fit.options = plan.options;
  const std::vector<BesideRow> beside = RowsBeside(request.beside, draft, HomeOf(plan));
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    fit.devices.push_back(FitOf(file, plan, request, beside, i));
  }
  for (const BesideRow& row : beside) AddOther(file, plan, request, beside, row.device, fit);
  AddOther(file, plan, request, beside, kHostDevice, fit);
  AddPool(fit);
  fit.reads = ReadsOfMapped(file, spec, plan);
  if (draft) {
    fit.draft_device = HomeOf(*draft);
    fit.reads += ReadsOfMapped(*request.beside.draft->file, *request.beside.draft->spec, *draft);
  }
  for (const BesideRow& row : beside) {
    if (row.row == kProjectorRow) fit.mmproj_device = row.device;
  }
  SetVerdict(fit);
  return fit;
}

namespace {

Result<Fit> JudgeBeside(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan,
                        const FitRequest& request) {
  VT_ASSIGN_OR_RETURN(const std::optional<EnginePlan> draft, PlanDraft(request, plan));
  if (request.beside.projector && !request.beside.projector->device.empty()) {
    const Status listed = ListedDevice(request, request.beside.projector->device).status();
    if (!listed.ok()) return listed.Annotate("projector");
  }
  return JudgePlan(file, spec, plan, request, draft ? &*draft : nullptr);
}

}  // namespace

Result<Fit> JudgeOptions(const GgufFile& file, const ModelSpec& spec, const FitRequest& request,
                         const EngineOptions& options) {
  VT_ASSIGN_OR_RETURN(const EnginePlan plan, PlanToFit(file, spec, request, options));
  return JudgeBeside(file, spec, plan, request);
}

Result<Fit> JudgeFit(const GgufFile& file, const ModelSpec& spec, const FitRequest& request) {
  VT_ASSIGN_OR_RETURN(const EnginePlan plan, PlanToFit(file, spec, request, request.options));
  VT_ASSIGN_OR_RETURN(Fit fit, JudgeBeside(file, spec, plan, request));
  fit.file = AccountFor(file, plan);
  AddWarnings(spec, fit);
  DoubtBudgets(request, fit);
  if (!fit.yes() && fit.verdict != FitVerdict::kCannotTell) {
    fit.remedies = FindRemedies(file, spec, request, fit);
  }
  return fit;
}

Fit CannotTell(const EngineOptions& options, std::string why) {
  Fit fit;
  fit.options = options;
  fit.missing.push_back(std::move(why));
  return fit;
}

std::uint64_t NeedAt(const Fit& fit, std::string_view where) {
  for (const Place& place : PlacesOf(fit)) {
    if (place.where == where) return place.need;
  }
  return 0;
}

}  // namespace vt
