#include "caps/model_needs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "caps/model_shapes.h"
#include "vt/model_spec.h"

namespace vt {
namespace {

using LayerName = std::pair<int, std::string>;

// "0-3,5" of sorted layers.
std::string Ranges(const std::vector<int>& layers) {
  std::string text;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    text.append(text.empty() ? "" : ",").append(std::to_string(layers[i]));
    if (last > i) text.append("-").append(std::to_string(layers[last]));
    i = last + 1;
  }
  return text;
}

LayerName SplitLayer(std::string_view tensor, int layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  if (layer < 0 || !tensor.starts_with(prefix)) return {-1, std::string(tensor)};
  return {layer, std::string(tensor.substr(prefix.size()))};
}

// One op at one place, with its calls in steps of different sizes.
struct PlacedOp {
  const WalkedOp* first = nullptr;
  std::vector<const WalkedOp*> calls;   // one per number of tokens
  std::vector<std::string> signatures;  // of the calls
  std::int64_t count = 0;               // in the step of `first`
  std::vector<std::string_view> tensors;
};

std::string Signature(const WalkedOp& op) { return op.call ? SignatureOf(*op.call) : op.op; }

// The n-th different call of an op at a place in one step goes with the n-th in the other.
std::vector<PlacedOp> PairSteps(const std::vector<WalkedOp>& ops) {
  using Spot = std::tuple<int, std::string_view, std::string_view>;
  struct Last {
    std::string signature;
    std::size_t ordinal = 0;
  };
  std::map<std::pair<Spot, std::int64_t>, Last> last;
  std::map<std::pair<Spot, std::size_t>, std::size_t> index;
  std::vector<PlacedOp> placed;
  for (const WalkedOp& op : ops) {
    const Spot spot{op.layer, op.place, op.op};
    const std::string signature = Signature(op);
    const auto [seen, is_first] = last.try_emplace({spot, op.tokens}, Last{signature, 0});
    const bool repeated = !is_first && seen->second.signature == signature;
    if (!is_first && !repeated) seen->second = {signature, seen->second.ordinal + 1};
    const auto [at, is_new] = index.try_emplace({spot, seen->second.ordinal}, placed.size());
    if (is_new)
      placed.push_back({.first = &op, .calls = {}, .signatures = {}, .count = 0, .tensors = {}});
    PlacedOp& entry = placed[at->second];
    for (const std::string_view tensor : op.tensors) {
      if (std::find(entry.tensors.begin(), entry.tensors.end(), tensor) == entry.tensors.end()) {
        entry.tensors.push_back(tensor);
      }
    }
    if (op.tokens == entry.first->tokens) ++entry.count;
    if (repeated) continue;
    entry.calls.push_back(&op);
    entry.signatures.push_back(std::to_string(op.tokens) + ":" + signature);
  }
  return placed;
}

struct Gathering {
  NeededGroup group;
  std::vector<LayerName> tensors;
};

std::vector<NeededGroup> Gather(const std::vector<WalkedOp>& ops, DeviceKind kind) {
  std::map<std::vector<std::string>, std::size_t> index;
  std::vector<Gathering> gatherings;
  for (const PlacedOp& placed : PairSteps(ops)) {
    const auto [at, is_new] = index.try_emplace(placed.signatures, gatherings.size());
    if (is_new) {
      Gathering& made = gatherings.emplace_back();
      made.group.op = placed.first->op;
      made.group.unwritten = placed.first->unwritten;
      made.group.kinds = {kind};
      for (const WalkedOp* op : placed.calls) {
        if (op->call) made.group.calls.push_back({op->tokens, *op->call});
      }
    }
    Gathering& gathering = gatherings[at->second];
    gathering.group.count += placed.count;
    gathering.group.places.emplace_back(placed.first->layer, placed.first->place);
    for (const std::string_view tensor : placed.tensors) {
      gathering.tensors.push_back(SplitLayer(tensor, placed.first->layer));
    }
  }
  std::vector<NeededGroup> groups;
  for (Gathering& gathering : gatherings) {
    gathering.group.tensors = GatherLayers(gathering.tensors);
    groups.push_back(std::move(gathering.group));
  }
  return groups;
}

bool SameNeed(const NeededGroup& a, const NeededGroup& b) {
  return a.op == b.op && a.places == b.places && a.count == b.count && a.tensors == b.tensors &&
         std::equal(a.calls.begin(), a.calls.end(), b.calls.begin(), b.calls.end(),
                    [](const NeededCall& x, const NeededCall& y) {
                      return x.tokens == y.tokens && SignatureOf(x.call) == SignatureOf(y.call);
                    });
}

}  // namespace

std::vector<std::string> GatherLayers(const std::vector<LayerName>& names) {
  std::vector<std::pair<std::string, std::vector<int>>> gathered;
  std::map<std::pair<bool, std::string>, std::size_t> index;
  for (const auto& [layer, name] : names) {
    const auto [at, is_new] = index.try_emplace({layer >= 0, name}, gathered.size());
    if (is_new) gathered.emplace_back(name, std::vector<int>());
    if (layer >= 0) gathered[at->second].second.push_back(layer);
  }
  std::vector<std::string> texts;
  for (auto& [name, layers] : gathered) {
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    texts.push_back(layers.empty() ? name : "blk." + Ranges(layers) + "." + name);
  }
  return texts;
}

Result<ModelNeeds> FindModelNeeds(const GgufFile& file, const EngineOptions& options,
                                  std::span<const DeviceInfo> devices) {
  ModelNeeds needs;
  needs.tensors = file.tensors().size();
  const Result<ModelSpec> spec = ReadModelSpec(file);
  if (!spec.ok()) {
    if (spec.status().code() != Code::kUnsupported) return spec.status();
    needs.from_forward = false;
    needs.unknown_reason = spec.status().message();
  }
  std::set<DeviceKind> walked;
  for (const DeviceInfo& device : devices) {
    if (!walked.insert(device.kind).second) continue;
    ModelWalk walk;
    if (spec.ok()) {
      VT_ASSIGN_OR_RETURN(walk, WalkForward(file, *spec, options, device));
    } else {
      walk = WalkTensorTable(file, options, device.kind, needs.unknown_reason);
    }
    needs.left = std::move(walk.left);
    // What only this kind needs goes where it stands in the order of execution.
    auto next = needs.groups.begin();
    for (NeededGroup& group : Gather(walk.ops, device.kind)) {
      const auto same = std::find_if(needs.groups.begin(), needs.groups.end(),
                                     [&](const NeededGroup& g) { return SameNeed(g, group); });
      if (same != needs.groups.end()) {
        same->kinds.insert(device.kind);
        next = same + 1;
      } else {
        next = needs.groups.insert(next, std::move(group)) + 1;
      }
    }
  }
  return needs;
}

}  // namespace vt
