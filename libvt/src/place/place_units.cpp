#include "place/place_units.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/arena.h"
#include "models/spec_weights.h"
#include "place/overhead.h"
#include "place/slot_cost.h"
#include "place/work_kinds.h"
#include "plan/placement.h"

namespace vt {
namespace {

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// What a token of each phase counts for.
struct Weights {
  double decode = 1;
  double prefill = 1e-2;
};
Weights WeightsOf(Objective objective) {
  switch (objective) {
    case Objective::kDecode:
      break;
    case Objective::kPrefill:
      return {1e-4, 1};
    case Objective::kBalanced:  // a prompt four times as long as its answer
      return {1, 4};
  }
  return {};  // of equals the one that reads prompts faster
}

bool Multiplies(const AnyArgs& call) {
  return std::visit([](const auto& args) { return WeightTypeOf(args).has_value(); }, call);
}

class Builder {
 public:
  Builder(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request,
          const PinnedTensors& pins)
      : file_(file),
        spec_(spec),
        request_(request),
        pins_(pins),
        n_(static_cast<int>(request.devices.size())),
        weights_(WeightsOf(request.objective)) {}

  Result<PlaceUnits> Run() {
    VT_RETURN_IF_ERROR(PlanEach());
    kinds_ = std::make_shared<WorkKinds>(file_, spec_, request_, plans_.front());
    model_.emplace(spec_, plans_.front().options, request_.devices);
    SearchProblem& p = u_.problem;
    p.base_bytes.assign(At(n_), 0);
    p.base_work.assign(At(n_), 0);
    for (int d = 0; d < n_; ++d) {
      if (request_.devices[At(d)].kind != DeviceKind::kCpu) continue;
      p.host = d;
      p.base_bytes[At(d)] =
          OverheadOf(file_, request_.devices[At(d)], request_.calibration).bytes();
    }
    AddUnits();
    AddTensors();
    KeepStreamedOnHost();
    AddCells();
    for (int d = 0; d < n_; ++d) VT_RETURN_IF_ERROR(AddTimes(d));
    VT_RETURN_IF_ERROR(CheckSomewhere());
    AddPinned();
    FindExpanding();
    AddEdges();
    AddLimits();
    p.work_bytes = [kinds = kinds_](int device, std::uint64_t set) {
      return kinds->Bytes(device, set);
    };
    return std::move(u_);
  }

 private:
  // Everything on each device in turn, what it does not keep decoded.
  Status PlanEach() {
    std::vector<std::string> ids;
    for (const DeviceInfo& device : request_.devices) ids.push_back(device.id);
    for (int d = 0; d < n_; ++d) {
      Placement whole = WholePlacement(file_, spec_, ids.front());
      whole.devices = ids;
      whole.input = whole.output = d;
      for (LayerPlacement& layer : whole.layers) layer = {d, d, d};
      for (std::size_t t = 0; t < whole.tensors.size(); ++t) {
        if (whole.tensors[t] < 0) continue;
        whole.tensors[t] = d;
        if (!Keeps(request_.devices[At(d)], file_.tensors()[t].type).yes) {
          whole.held[t] = Held::kExpanded;
        }
      }
      u_.held.push_back(whole.held);
      std::vector<std::int64_t>& slots = u_.slots.emplace_back();
      for (std::size_t i = 0; i < whole.layers.size(); ++i) {
        slots.push_back(SlotsOn(d, spec_.layers[i].moe));
        whole.layers[i].expert_slots = slots.back();
      }
      EngineOptions options = request_.options;
      options.placement = std::move(whole);
      VT_ASSIGN_OR_RETURN(EnginePlan plan, MakePlan(file_, spec_, options, request_.devices));
      plans_.push_back(std::move(plan));
    }
    return {};
  }

  // LayerPlacement::expert_slots of a layer whose experts are on the device.
  std::int64_t SlotsOn(int d, const MoeSpec& moe) const {
    const DeviceInfo& device = request_.devices[At(d)];
    if (device.kind == DeviceKind::kCpu || moe.experts <= request_.expert_slots) return 0;
    if (request_.expert_slots == 0) return 0;
    std::size_t matrices = 0, pinned = 0;
    for (const ExpertRef* ref : {&moe.gate, &moe.up, &moe.down}) {
      if (!*ref) continue;
      const auto t = At(ref->weight.tensor);
      if (!Keeps(device, file_.tensors()[t].type).yes) return 0;
      ++matrices;
      if (pins_.device[t] == d) ++pinned;
      if (pins_.device[t] >= 0 && pins_.device[t] != d) return 0;
    }
    // Those that are pinned lie there whole where the others are elsewhere.
    return pinned == 0 || pinned == matrices ? request_.expert_slots : 0;
  }

  // What is copied to slots stays mapped on the host. Experts that every other device would have in
  // slots are mapped there wherever they are.
  void KeepStreamedOnHost() {
    const int host = u_.problem.host;
    if (host < 0 || n_ < 2) return;
    std::vector<std::uint64_t> mapped(file_.tensors().size());
    for (const KeptTensor& one : plans_[At(host)].devices[At(host)].mapped) {
      mapped[At(one.tensor)] = one.bytes;
    }
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      const MoeSpec& moe = spec_.layers[i].moe;
      std::set<int> tensors;
      for (const ExpertRef* ref : {&moe.gate, &moe.up, &moe.down}) {
        if (*ref) tensors.insert(ref->weight.tensor);
      }
      const int unit = u_.layers[i].experts;
      for (const int t : tensors) {
        const int pinned = pins_.device[At(t)];
        bool streamed = true;
        for (int d = 0; d < n_; ++d) {
          if (d != host && (pinned < 0 || pinned == d)) streamed &= u_.slots[At(d)][i] > 0;
        }
        if (!streamed || pinned == host) continue;
        u_.problem.base_bytes[At(host)] += mapped[At(t)];
        u_.base_mapped += mapped[At(t)];
        if (pinned >= 0) continue;
        u_.problem.units[At(unit)].bytes[At(host)] -= mapped[At(t)];
        u_.mapped[At(unit)] -= mapped[At(t)];
      }
    }
  }

  int AddUnit(ModelPart part, int layer, int block) {
    SearchUnit unit{.block = block,
                    .apart = part == ModelPart::kExperts,
                    .tie = -1,
                    .work = kinds_->KindOf(part, layer),
                    .seconds = std::vector<double>(At(n_)),
                    .bytes = std::vector<std::uint64_t>(At(n_))};
    u_.problem.units.push_back(std::move(unit));
    u_.mapped.push_back(0);
    parts_.emplace_back(part, layer);
    return static_cast<int>(u_.problem.units.size()) - 1;
  }

  void AddUnits() {
    u_.table.assign(file_.tensors().size(), false);
    u_.unit_of.assign(file_.tensors().size(), -1);
    const int output = spec_.output.weight.tensor;
    for (const WeightRef* table : {&spec_.embedding, &spec_.position_embedding, &spec_.ple_table}) {
      if (!*table || table->tensor == output) continue;
      const auto t = At(table->tensor);
      u_.table[t] = true;
      u_.unit_of[t] = AddUnit(ModelPart::kInput, -1, 0);
    }
    u_.input = AddUnit(ModelPart::kInput, -1, 0);
    u_.layers.resize(spec_.layers.size());
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      const LayerSpec& layer = spec_.layers[i];
      const int index = static_cast<int>(i);
      PlaceUnits::Layer& units = u_.layers[i];
      if (layer.has_mixer()) units.mixer = AddUnit(ModelPart::kMixer, index, index + 1);
      units.ffn = AddUnit(ModelPart::kFfn, index, index + 1);
      if (layer.moe.experts > 0) units.experts = AddUnit(ModelPart::kExperts, index, index + 1);
      if (layer.kv_source >= 0) {
        u_.problem.units[At(units.mixer)].tie = layer.kv_source;
        u_.problem.units[At(u_.layers[At(layer.kv_source)].mixer)].tie = layer.kv_source;
      }
    }
    u_.output = AddUnit(ModelPart::kOutput, -1, static_cast<int>(spec_.layers.size()) + 1);
  }

  int UnitOf(ModelPart part, int layer) const {
    if (part == ModelPart::kInput) return u_.input;
    if (part == ModelPart::kOutput) return u_.output;
    const PlaceUnits::Layer& units = u_.layers[At(layer)];
    if (part == ModelPart::kMixer) return units.mixer;
    return part == ModelPart::kFfn ? units.ffn : units.experts;
  }

  // Each tensor's bytes on each device, to the unit that it lies with.
  void AddTensors() {
    std::vector<int> floats(file_.tensors().size(), -1);
    int with = -1;  // of a bias: its matrix's unit
    VisitWeights(spec_, [&](int layer, const char* place, WeightUse use, const WeightRef& ref) {
      const ModelPart part = PartOf(layer, place);
      const auto t = At(ref.tensor);
      const int unit = UnitOf(part, layer);
      if (use == WeightUse::kMatrix) {
        matrix_at_.try_emplace({layer, place}, ref.tensor);
        if (u_.unit_of[t] < 0 || (part == ModelPart::kOutput && !u_.table[t])) {
          u_.unit_of[t] = unit;
        }
        with = u_.unit_of[t];
      } else if (floats[t] < 0) {
        floats[t] = use == WeightUse::kBias ? with : unit;
      }
      if (ref.scales >= 0 && floats[At(ref.scales)] < 0) floats[At(ref.scales)] = with;
    });
    for (int d = 0; d < n_; ++d) {
      const DevicePlan& device = plans_[At(d)].devices[At(d)];
      std::vector<std::uint64_t> bytes(file_.tensors().size()), mapped(file_.tensors().size());
      for (const auto* list : {&device.mapped, &device.gathered, &device.uploaded}) {
        for (const KeptTensor& one : *list) bytes[At(one.tensor)] += one.bytes;
      }
      for (const KeptTensor& one : device.mapped) mapped[At(one.tensor)] += one.bytes;
      for (const ExpandedTensor& one : device.expanded) bytes[At(one.tensor)] += one.bytes;
      for (const SlotLayer& layer : device.slots) {
        for (const SlotTensor& one : layer.tensors) bytes[At(one.tensor)] += layer.BytesOf(one);
      }
      for (std::size_t t = 0; t < bytes.size(); ++t) {
        const int unit = u_.unit_of[t] >= 0 ? u_.unit_of[t] : floats[t];
        if (bytes[t] == 0 || unit < 0) continue;
        if (pins_.device[t] >= 0) {
          if (pins_.device[t] != d) continue;
          u_.problem.base_bytes[At(d)] += bytes[t];
          u_.base_mapped += mapped[t];
        } else {
          u_.problem.units[At(unit)].bytes[At(d)] += bytes[t];
          u_.mapped[At(unit)] += mapped[t];
        }
      }
      u_.tensor_bytes.push_back(std::move(bytes));
    }
  }

  void AddCells() {
    const EnginePlan& plan = plans_.front();
    const std::int64_t sequences = plan.options.sequences;
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      if (u_.layers[i].mixer < 0) continue;
      std::uint64_t bytes = 0;
      if (const KvLayerBytes& kv = plan.kv[i]; kv.group >= 0) {
        const auto cells = static_cast<std::uint64_t>(plan.groups[At(kv.group)].pages * kPageCells);
        for (const std::uint64_t cell : {kv.key_cell, kv.value_cell, kv.index_cell}) {
          bytes += AlignUp(cells * cell);
        }
      }
      if (!plan.states.empty()) {
        for (const std::int64_t state : {plan.states[i].conv_floats, plan.states[i].state_floats}) {
          bytes += AlignUp(static_cast<std::uint64_t>(sequences * state) * sizeof(float));
        }
      }
      for (std::uint64_t& all : u_.problem.units[At(u_.layers[i].mixer)].bytes) all += bytes;
    }
  }

  double Weighed(std::int64_t tokens, double seconds) const {
    return tokens == 1 ? weights_.decode * seconds
                       : weights_.prefill * model_->PromptSteps() * seconds;
  }

  // The tensor that an op multiplies with or looks up in; -1.
  int TensorOf(const NeededOp& op) const {
    if (!Multiplies(op.call) && !std::holds_alternative<EmbedArgs>(op.call)) return -1;
    const auto found = matrix_at_.find({op.layer, op.place});
    return found == matrix_at_.end() ? -1 : found->second;
  }

  // "op rope_table: no kernel was written for hip (written for: cpu, sim); nor attention"
  static void NoteLack(const std::string& op, const std::string& reason, std::string& lacks) {
    if (lacks.empty()) {
      lacks = "op " + op + ": " + reason;
    } else if (lacks.find(" " + op + ":") == std::string::npos && !lacks.ends_with(" " + op) &&
               lacks.find(" " + op + ",") == std::string::npos) {
      lacks += (lacks.find("; nor ") == std::string::npos ? "; nor " : ", ") + op;
    }
  }

  Status AddTimes(int d) {
    VT_ASSIGN_OR_RETURN(const OpWalk walk, WalkOps(file_, spec_, plans_[At(d)]));
    const DeviceInfo& device = request_.devices[At(d)];
    std::string& lacks = u_.lacks.emplace_back();
    product_.emplace_back(file_.tensors().size());
    for (const NeededOp& op : walk.ops) {
      Verdict refused;
      const double seconds = Weighed(op.tokens, model_->TimeOf(op, d, &refused).seconds);
      const int tensor = TensorOf(op);
      int unit = UnitOf(PartOfOp(op), op.layer);
      if (tensor >= 0 && u_.table[At(tensor)]) unit = u_.unit_of[At(tensor)];
      if (unit < 0) continue;
      double& all = u_.problem.units[At(unit)].seconds[At(d)];
      if (refused.refusal != Refusal::kNone) {
        NoteLack(OpOf(op.call), refused.reason, lacks);
        if (!device.described || request_.strict_kernels) {
          const int pinned = tensor < 0 ? -1 : pins_.device[At(tensor)];
          if (pinned == d) {
            return UnsupportedError(pins_.RuleOf(At(tensor)) + ": " + device.id +
                                    " cannot multiply with " +
                                    std::string(file_.tensors()[At(tensor)].name) + ": " + lacks);
          }
          if (pinned < 0) all = kCannotRun;
          continue;
        }
      }
      if (tensor >= 0 && pins_.device[At(tensor)] >= 0) {
        product_[At(d)][At(tensor)] += seconds;
        const auto [in, out] = OperandsOf(op.call);
        for (int home = 0; home < n_; ++home) {
          const int there = pins_.device[At(tensor)];
          if (there != d || home == there) continue;
          // Counted once, in the walk of the device that it is pinned to.
          away_[{unit, home}] += Weighed(op.tokens, model_->CrossingSeconds(home, there, in) +
                                                        model_->CrossingSeconds(there, home, out));
        }
        continue;
      }
      all += seconds;
    }
    for (const SlotLayer& layer : plans_[At(d)].devices[At(d)].slots) {
      const std::int64_t used = spec_.layers[At(layer.layer)].moe.used;
      double& all = u_.problem.units[At(u_.layers[At(layer.layer)].experts)].seconds[At(d)];
      const std::int64_t ubatch = plans_[At(d)].options.ubatch;
      all += Weighed(1, SlotSeconds(*model_, d, layer, used, 1));
      if (ubatch > 1) all += Weighed(ubatch, SlotSeconds(*model_, d, layer, used, ubatch));
    }
    return {};
  }

  Status CheckSomewhere() const {
    for (std::size_t u = 0; u < u_.problem.units.size(); ++u) {
      const std::vector<double>& seconds = u_.problem.units[u].seconds;
      if (std::any_of(seconds.begin(), seconds.end(), [](double s) { return s != kCannotRun; })) {
        continue;
      }
      std::string why;
      for (int d = 0; d < n_; ++d) {
        why += (why.empty() ? "" : "; ") + request_.devices[At(d)].id + ": " + u_.lacks[At(d)];
      }
      const auto& [part, layer] = parts_[u];
      return UnsupportedError(
          std::string(NameOf(part)) + (layer < 0 ? "" : " of layer " + std::to_string(layer)) +
          ": no device runs it: " + why + "; add a device that does (the cpu runs every op)");
    }
    return {};
  }

  // A unit all of whose matrices are pinned to one device runs there; of others each pinned product
  // runs where it is pinned, and its operands cross.
  void AddPinned() {
    std::vector<int> where(u_.problem.units.size(), -2);  // -2: nothing yet, -1: not one device
    for (std::size_t t = 0; t < u_.unit_of.size(); ++t) {
      if (u_.unit_of[t] < 0) continue;
      int& device = where[At(u_.unit_of[t])];
      device = device == -2 || device == pins_.device[t] ? pins_.device[t] : -1;
    }
    for (std::size_t t = 0; t < u_.unit_of.size(); ++t) {
      const int there = pins_.device[t];
      if (there < 0) continue;
      const int index = u_.unit_of[t];
      SearchUnit& unit = u_.problem.units[At(index)];
      for (double& seconds : unit.seconds) seconds += product_[At(there)][t];
      u_.problem.base_work[At(there)] |= std::uint64_t{1} << unit.work;
    }
    for (const auto& [key, seconds] : away_) {
      u_.problem.units[At(key.first)].seconds[At(key.second)] += seconds;
    }
    for (std::size_t u = 0; u < where.size(); ++u) {
      if (where[u] < 0) continue;
      for (int d = 0; d < n_; ++d) {
        if (d != where[u]) u_.problem.units[u].seconds[At(d)] = kCannotRun;
      }
    }
  }

  void FindExpanding() {
    for (std::size_t u = 0; u < u_.problem.units.size(); ++u) {
      if (parts_[u].first != ModelPart::kExperts) continue;
      std::vector<bool> expands(At(n_));
      for (std::size_t t = 0; t < u_.unit_of.size(); ++t) {
        if (u_.unit_of[t] != static_cast<int>(u) || pins_.device[t] >= 0) continue;
        for (int d = 0; d < n_; ++d) {
          if (u_.held[At(d)][t] == Held::kExpanded) expands[At(d)] = true;
        }
      }
      bool kept = false;
      for (int d = 0; d < n_; ++d) {
        kept = kept || (!expands[At(d)] && u_.problem.units[u].seconds[At(d)] != kCannotRun);
      }
      for (int d = 0; kept && d < n_; ++d) {
        if (expands[At(d)]) u_.would_expand.emplace_back(static_cast<int>(u), d);
      }
    }
  }

  // `trips` values of `floats` for each token go from one unit to the other.
  void AddEdge(int from, int to, double trips, double floats) {
    if (from < 0 || to < 0) return;
    SearchEdge edge{from, to, std::vector<double>(At(n_ * n_))};
    const auto rows = static_cast<double>(plans_.front().options.ubatch);
    for (int a = 0; a < n_; ++a) {
      for (int b = 0; b < n_; ++b) {
        if (a == b) continue;
        const double one = floats * sizeof(float);
        edge.seconds[At(a * n_ + b)] =
            trips * (Weighed(1, model_->CrossingSeconds(a, b, one)) +
                     Weighed(2, model_->CrossingSeconds(a, b, one * rows)));
      }
    }
    u_.problem.edges.push_back(std::move(edge));
  }

  void AddEdges() {
    const auto width = static_cast<double>(spec_.width);
    for (std::size_t t = 0; t < u_.table.size(); ++t) {
      if (!u_.table[t]) continue;
      AddEdge(u_.unit_of[t], u_.input, 1, static_cast<double>(file_.tensors()[t].cols()));
    }
    // A tied table lies with the output; its rows cross to the input.
    if (spec_.output.weight.tensor == spec_.embedding.tensor) {
      AddEdge(u_.output, u_.input, 1, width);
    }
    int last = u_.input;
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      const LayerSpec& layer = spec_.layers[i];
      const PlaceUnits::Layer& units = u_.layers[i];
      const bool routes_first =
          layer.moe.experts > 0 && layer.moe.router_input == RouterInput::kLayer;
      if (routes_first || units.mixer < 0) AddEdge(last, units.ffn, 1, width);
      if (!routes_first) AddEdge(last, units.mixer, 1, width);
      AddEdge(units.mixer, units.ffn, routes_first || layer.parallel_residual ? 2 : 1, width);
      // What the experts read, whom it goes to and with what weight; and back.
      AddEdge(units.ffn, units.experts, 2, width);
      AddEdge(units.ffn, units.experts, 2, static_cast<double>(layer.moe.used));
      if (layer.ple_gate) AddEdge(u_.input, units.ffn, 1, static_cast<double>(spec_.ple_width));
      const IndexerSpec& indexer = layer.latent.indexer;
      if (indexer.heads > 0 && indexer.source >= 0 && indexer.source != static_cast<int>(i)) {
        AddEdge(u_.layers[At(indexer.source)].mixer, units.mixer, 2,
                static_cast<double>(indexer.top));
      }
      last = units.ffn;
    }
    AddEdge(last, u_.output, 1, width);
  }

  void AddLimits() {
    SearchLimit pool;
    const Budget* host = nullptr;
    for (int d = 0; d < n_; ++d) {
      const DeviceInfo& device = request_.devices[At(d)];
      const auto budget = std::find_if(request_.budgets.begin(), request_.budgets.end(),
                                       [&](const Budget& one) { return one.device == device.id; });
      if (budget == request_.budgets.end()) continue;
      if (budget->bytes) u_.problem.limits.push_back({{d}, *budget->bytes});
      if (device.kind == DeviceKind::kCpu) host = &*budget;
      if (device.kind == DeviceKind::kCpu || budget->shares_host) pool.devices.push_back(d);
    }
    if (host && host->bytes && pool.devices.size() > 1) {
      pool.bytes = *host->bytes;
      u_.problem.limits.push_back(std::move(pool));
    }
  }

  const GgufFile& file_;
  const ModelSpec& spec_;
  const PlaceRequest& request_;
  const PinnedTensors& pins_;
  int n_;
  Weights weights_;
  PlaceUnits u_;
  std::vector<EnginePlan> plans_;  // by device: everything there
  std::shared_ptr<WorkKinds> kinds_;
  std::optional<CostModel> model_;
  std::vector<std::pair<ModelPart, int>> parts_;  // by unit
  std::map<std::pair<int, std::string>, int> matrix_at_;
  std::vector<std::vector<double>> product_;    // by device and pinned tensor
  std::map<std::pair<int, int>, double> away_;  // by unit and its device
};

}  // namespace

Result<PlaceUnits> MakeUnits(const GgufFile& file, const ModelSpec& spec,
                             const PlaceRequest& request, const PinnedTensors& pins) {
  return Builder(file, spec, request, pins).Run();
}

SearchProblem PlaceUnits::ProblemOf(bool expanding, bool paging) const {
  SearchProblem changed = problem;
  if (!expanding) {
    for (const auto& [unit, device] : would_expand) {
      changed.units[At(unit)].seconds[At(device)] = kCannotRun;
    }
  }
  if (!paging || changed.host < 0) return changed;
  changed.base_bytes[At(changed.host)] -= base_mapped;
  for (std::size_t u = 0; u < changed.units.size(); ++u) {
    changed.units[u].bytes[At(changed.host)] -= mapped[u];
  }
  return changed;
}

Placement PlaceUnits::ToPlacement(const GgufFile& file, const ModelSpec& spec,
                                  const PlaceRequest& request, const PinnedTensors& pins,
                                  const std::vector<int>& device) const {
  Placement placement;
  for (const DeviceInfo& one : request.devices) placement.devices.push_back(one.id);
  placement.input = device[At(input)];
  placement.output = device[At(output)];
  for (const Layer& units : layers) {
    const int ffn = device[At(units.ffn)];
    const int experts = units.experts < 0 ? ffn : device[At(units.experts)];
    const std::size_t layer = placement.layers.size();
    placement.layers.push_back(
        {units.mixer < 0 ? ffn : device[At(units.mixer)], ffn, experts, slots[At(experts)][layer]});
  }
  placement.tensors = pins.device;
  for (std::size_t t = 0; t < table.size(); ++t) {
    if (table[t] && placement.tensors[t] < 0) placement.tensors[t] = device[At(unit_of[t])];
  }
  PlaceTensors(file, spec, placement);
  for (std::size_t t = 0; t < placement.held.size(); ++t) {
    const int there = placement.tensors[t];
    if (there >= 0) placement.held[t] = held[At(there)][t];
  }
  return placement;
}

}  // namespace vt
