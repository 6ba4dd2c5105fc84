#include "formats/hf_tensors.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/file_error.h"
#include "formats/gguf_cut.h"
#include "formats/hf_names.h"
#include "formats/hf_scales.h"

namespace vt {
namespace {

constexpr std::uint64_t kNoLayer = ~std::uint64_t{0};
constexpr std::uint64_t kComputedAlignment = 64;

std::string Number(std::uint64_t value) { return std::to_string(value); }

using Runs = std::vector<GgufTensorPart>;

class Mapper {
 public:
  Mapper(const HfArchitecture& architecture, const HfModel& model,
         std::span<const SafetensorsTensor> stored, GgufContents& contents)
      : architecture_(architecture), model_(model), stored_(stored), contents_(contents) {}

  Status Map();

 private:
  // What becomes one tensor: one stored tensor, or experts x slots of them.
  struct Place {
    std::string name;
    std::uint64_t layer = kNoLayer;
    std::size_t row = 0;  // of the table, the first of them
    std::size_t slots = 1;
    std::vector<const SafetensorsTensor*> from;
  };
  using Scales = std::vector<const SafetensorsTensor*>;

  Status ReadSizes();
  void IndexRows();
  const HfTensorRow* FindRow(std::string_view name, NamePattern& pattern) const;
  bool IsSkipped(std::string_view name) const;
  Status PutIn(const SafetensorsTensor& tensor, const HfTensorRow& row, const NamePattern& pattern);
  Status PlaceAll();
  Status CheckLeftOver(const std::vector<const SafetensorsTensor*>& strangers) const;
  Status Build(const Place& place);
  Status BuildExperts(const Place& place);
  Status BuildKeysValues(const Place& place);
  Status AddCutScales(const SafetensorsTensor& joint, GgufCut& cut);
  Status BuildJoined(const std::string& name, const HfTensorRow& row, std::uint64_t experts,
                     const std::vector<const SafetensorsTensor*>& from);
  Status CheckAlike(const std::string& name, std::size_t slots,
                    const std::vector<const SafetensorsTensor*>& from) const;
  Status CheckScaleType(const SafetensorsTensor& scale) const;
  Result<Scales> FindScales(const std::vector<const SafetensorsTensor*>& from);
  Status BuildScales(const std::string& name, const HfTensorRow& row, std::uint64_t experts,
                     const std::vector<const SafetensorsTensor*>& from);
  Status AppendRows(const SafetensorsTensor& tensor, HfForm form, std::uint64_t rows,
                    Runs& runs) const;
  void Repeat(const SafetensorsTensor& scale, std::uint64_t times, Runs& runs);
  void Emit(const std::string& name, DType type, std::vector<std::uint64_t> dims, const Runs& runs);
  void EmitCut(const std::string& name, const SafetensorsTensor& joint, const GgufCut& cut);
  void EmitComputed();
  std::uint64_t HeadsOf(HfForm form) const {
    return form == HfForm::kHeadRows ? model_.heads : model_.kv_heads;
  }
  Status Corrupt(const SafetensorsTensor& tensor, const std::string& what) const {
    return FileCorrupt(contents_.shards[tensor.shard].path,
                       "tensor " + Quoted(tensor.name) + ": " + what);
  }
  Status Unsupported(const SafetensorsTensor& tensor, const std::string& what) const {
    return FileUnsupported(contents_.shards[tensor.shard].path,
                           "tensor " + Quoted(tensor.name) + ": " + what);
  }

  const HfArchitecture& architecture_;
  const HfModel& model_;
  std::span<const SafetensorsTensor> stored_;
  GgufContents& contents_;
  std::uint64_t layers_ = 0;
  bool tied_ = false;
  std::unordered_map<std::string_view, const HfTensorRow*> rows_;
  std::vector<Place> places_;
  std::size_t parts_ = 0;  // of all places
  std::unordered_map<std::string, std::size_t> place_of_;
  NameIndex by_name_;       // scales only, into stored_
  std::vector<bool> used_;  // by stored_
  std::string computed_;    // bytes of the computed shard
};

Status Mapper::Map() {
  VT_RETURN_IF_ERROR(CheckHfQuantization(model_.config));
  VT_RETURN_IF_ERROR(ReadSizes());
  IndexRows();
  VT_RETURN_IF_ERROR(PlaceAll());
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    // What belongs to no layer comes first: kNoLayer + 1 is 0.
    return a.layer != b.layer ? a.layer + 1 < b.layer + 1 : a.row < b.row;
  });
  for (const Place& place : places_) VT_RETURN_IF_ERROR(Build(place));
  std::string names;
  std::size_t unused = 0;
  const SafetensorsTensor* first = nullptr;
  for (const auto& [name, index] : by_name_) {
    if (used_[index]) continue;
    ++unused;
    if (!first || stored_[index].name < first->name) first = &stored_[index];
  }
  if (first) {
    return Corrupt(*first, "a scale that no FP8 weight uses" +
                               (unused > 1 ? " (and " + Number(unused - 1) + " more)" : "") +
                               "; its weight is missing or is not F8_E4M3, fetch the folder again");
  }
  for (const HfComputed& computed : model_.computed) {
    computed_.resize((computed_.size() + kComputedAlignment - 1) / kComputedAlignment *
                     kComputedAlignment);
    const std::uint64_t bytes = computed.values.size() * sizeof(float);
    const GgufTensorPart run{static_cast<std::uint32_t>(contents_.shards.size()), computed_.size(),
                             bytes};
    computed_.append(reinterpret_cast<const char*>(computed.values.data()),
                     static_cast<std::size_t>(bytes));
    Emit(computed.name, DType::kF32, {computed.values.size()}, {run});
  }
  EmitComputed();
  return {};
}

Status Mapper::ReadSizes() {
  VT_ASSIGN_OR_RETURN(layers_, model_.config.NeedU64("num_hidden_layers"));
  layers_ += model_.more_layers;
  VT_ASSIGN_OR_RETURN(const auto tied, model_.config.Bool("tie_word_embeddings"));
  tied_ = tied.value_or(false);
  constexpr std::uint64_t kMostExperts = 65536;
  if (model_.experts > kMostExperts) {
    return model_.config.Unsupported("num_experts", Number(model_.experts) + " (at most " +
                                                        Number(kMostExperts) + " are supported)");
  }
  used_.resize(stored_.size());
  return {};
}

void Mapper::IndexRows() {
  for (const HfTensorRow& row : architecture_.tensors) rows_.emplace(row.hf, &row);
}

const HfTensorRow* Mapper::FindRow(std::string_view name, NamePattern& pattern) const {
  const auto look = [&](std::string_view rest) {
    pattern = PatternOf(rest);
    const auto found = rows_.find(pattern.text);
    return found == rows_.end() ? nullptr : found->second;
  };
  for (const std::string_view prefix : architecture_.prefixes) {
    if (!name.starts_with(prefix)) continue;
    if (const HfTensorRow* const row = look(name.substr(prefix.size()))) return row;
  }
  return look(name);
}

bool Mapper::IsSkipped(std::string_view name) const {
  if (SaysNothingOfWeights(name)) return true;
  for (const std::string_view beginning : architecture_.skipped) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

Status Mapper::PlaceAll() {
  std::vector<const SafetensorsTensor*> strangers;
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const SafetensorsTensor& tensor = stored_[i];
    NamePattern pattern;
    const HfTensorRow* const row = FindRow(tensor.name, pattern);
    if (row) {
      VT_RETURN_IF_ERROR(PutIn(tensor, *row, pattern));
    } else if (IsSkipped(tensor.name)) {
      continue;
    } else if (IsHfScaleName(tensor.name)) {
      by_name_.emplace(tensor.name, i);
    } else {
      strangers.push_back(&tensor);
    }
  }
  // A head that the configuration ties to the embedding is not read.
  if (tied_) {
    const auto head = place_of_.find("output.weight");
    if (head != place_of_.end()) {
      for (const std::string& name : HfScaleNames(places_[head->second].from[0]->name)) {
        if (const auto scale = by_name_.find(name); scale != by_name_.end()) {
          used_[scale->second] = true;
        }
      }
      places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(head->second));
    }
  }
  return CheckLeftOver(strangers);
}

Status Mapper::CheckLeftOver(const std::vector<const SafetensorsTensor*>& strangers) const {
  if (strangers.empty()) return {};
  constexpr std::size_t kShown = 5;
  std::string more;
  for (std::size_t i = 1; i < std::min(strangers.size(), kShown); ++i) {
    more += (more.empty() ? "" : ", ") + Quoted(strangers[i]->name);
  }
  if (strangers.size() > kShown) more += " and " + Number(strangers.size() - kShown) + " more";
  return Unsupported(*strangers[0], "has no place in a model of architecture " +
                                        std::string(architecture_.gguf) +
                                        (more.empty() ? "" : ", nor have " + more) +
                                        "; convert the model to GGUF");
}

Status Mapper::PutIn(const SafetensorsTensor& tensor, const HfTensorRow& row,
                     const NamePattern& pattern) {
  const std::uint64_t layer = pattern.count > 0 ? pattern.numbers[0] : kNoLayer;
  if (layer != kNoLayer && layer >= layers_) {
    std::string count = "num_hidden_layers is " + Number(layers_ - model_.more_layers);
    if (model_.more_layers > 0) count += ", with " + Number(model_.more_layers) + " after them";
    return Corrupt(tensor, "layer " + Number(layer) + " (" + count + ")");
  }
  if (!tensor.type->known) {
    return Unsupported(
        tensor, "dtype " + std::string(tensor.type->name) + " (allowed: F32, F16, BF16, F8_E4M3)");
  }
  if (tensor.rank > 4 || tensor.bytes == 0) {
    return Corrupt(
        tensor, "shape " + ShapeText(tensor.shape()) + " (want 0 to 4 dimensions, none of them 0)");
  }
  const bool expert = row.form == HfForm::kExpert;
  const auto [found, is_new] = place_of_.emplace(Named(row.gguf, layer), places_.size());
  if (is_new) {
    Place& place = places_.emplace_back();
    place.name = found->first;
    place.layer = layer;
    place.row = static_cast<std::size_t>(&row - architecture_.tensors.data());
    if (expert) {
      place.slots = 0;
      for (const HfTensorRow& other : architecture_.tensors) {
        if (other.gguf == row.gguf && other.form == HfForm::kExpert) ++place.slots;
      }
    }
    place.from.resize(static_cast<std::size_t>(expert ? model_.experts : 1) * place.slots);
    // Far more parts than tensors are missing some; what names the first needs no more memory.
    constexpr std::size_t kSlack = std::size_t{1} << 20;
    parts_ += place.from.size();
    if (parts_ > kSlack && parts_ / 4 > stored_.size()) {
      return Corrupt(tensor, "the configuration's " + Number(model_.experts) +
                                 " experts have too few tensors (" + Number(stored_.size()) +
                                 " are stored)");
    }
  }
  Place& place = places_[found->second];
  std::size_t index = 0;
  if (expert) {
    if (pattern.numbers[1] >= model_.experts) {
      return Corrupt(tensor, "expert " + Number(pattern.numbers[1]) + " (the configuration has " +
                                 Number(model_.experts) + ")");
    }
    index = static_cast<std::size_t>(pattern.numbers[1]) * place.slots +
            static_cast<std::size_t>(row.slot);
  }
  if (index >= place.from.size() || place.from[index] ||
      (architecture_.tensors[place.row].form == HfForm::kExpert) != expert) {
    const auto other = std::find_if(place.from.begin(), place.from.end(),
                                    [](const SafetensorsTensor* t) { return t; });
    return Corrupt(tensor, "stands for " + place.name + ", as tensor " + Quoted((*other)->name) +
                               " does; one of them must go");
  }
  place.from[index] = &tensor;
  place.row = std::min(place.row, static_cast<std::size_t>(&row - architecture_.tensors.data()));
  return {};
}

Status Mapper::Build(const Place& place) {
  const HfTensorRow& row = architecture_.tensors[place.row];
  if (row.form == HfForm::kExpert) return BuildExperts(place);
  if (row.form == HfForm::kKeysValues) return BuildKeysValues(place);
  return BuildJoined(place.name, row, 0, place.from);
}

Status Mapper::BuildExperts(const Place& place) {
  const HfTensorRow& row = architecture_.tensors[place.row];
  for (std::size_t i = 0; i < place.from.size(); ++i) {
    if (place.from[i]) continue;
    const auto some = std::find_if(place.from.begin(), place.from.end(),
                                   [](const SafetensorsTensor* t) { return t; });
    return Corrupt(**some, "stands for a part of " + place.name + ", whose part of expert " +
                               Number(i / place.slots) + " is missing" +
                               (place.slots > 1 ? " (part " + Number(i % place.slots) + ")" : ""));
  }
  VT_RETURN_IF_ERROR(CheckAlike(place.name, place.slots, place.from));
  if (place.slots == 1) return BuildJoined(place.name, row, model_.experts, place.from);

  // Blocks of scales must end where the first part ends.
  bool seams = true;
  if (place.from[0]->type->type == DType::kF8_E4M3) {
    VT_ASSIGN_OR_RETURN(const Scales scales, FindScales(place.from));
    const Result<HfScaleForm> form = FindHfScaleForm(*place.from[0], *scales[0]);
    for (std::size_t slot = 0; slot + 1 < place.slots; ++slot) {
      if (form.ok() && *form == HfScaleForm::kBlock &&
          place.from[slot]->dims[0] % kHfScaleBlock != 0) {
        seams = false;
      }
    }
  }
  if (seams) return BuildJoined(place.name, row, model_.experts, place.from);
  for (const HfTensorRow& part : architecture_.tensors) {
    if (part.gguf != row.gguf || part.form != HfForm::kExpert) continue;
    std::vector<const SafetensorsTensor*> from;
    for (std::size_t i = static_cast<std::size_t>(part.slot); i < place.from.size();
         i += place.slots) {
      from.push_back(place.from[i]);
    }
    VT_RETURN_IF_ERROR(BuildJoined(Named(part.apart, place.layer), part, model_.experts, from));
  }
  return {};
}

// Experts are matrices of one type; those of one slot have one shape, all have one row length.
Status Mapper::CheckAlike(const std::string& name, std::size_t slots,
                          const std::vector<const SafetensorsTensor*>& from) const {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const SafetensorsTensor& tensor = *from[i];
    const SafetensorsTensor& first = *from[i % slots];
    if (tensor.rank != 2) {
      return Corrupt(tensor, "shape " + ShapeText(tensor.shape()) + " (want 2 dimensions)");
    }
    if (tensor.type != from[0]->type || tensor.dims[0] != first.dims[0] ||
        tensor.dims[1] != from[0]->dims[1]) {
      return Corrupt(tensor, std::string(tensor.type->name) + " of shape " +
                                 ShapeText(tensor.shape()) + ", but tensor " +
                                 Quoted((tensor.type != from[0]->type ? *from[0] : first).name) +
                                 " is " + std::string(from[0]->type->name) + " of " +
                                 ShapeText(first.shape()) + " (all parts of " + name +
                                 " must be alike)");
    }
  }
  return {};
}

// The tensors of `from` one after the other; with `experts`, from.size() / experts of each expert.
Status Mapper::BuildJoined(const std::string& name, const HfTensorRow& row, std::uint64_t experts,
                           const std::vector<const SafetensorsTensor*>& from) {
  const SafetensorsTensor& first = *from[0];
  std::vector<std::uint64_t> dims(first.shape().rbegin(), first.shape().rend());
  if (dims.empty()) dims.push_back(1);
  if (experts > 0) {
    dims[1] = 0;
    for (std::size_t i = 0; i < from.size() / experts; ++i) dims[1] += from[i]->dims[0];
    dims.push_back(experts);
  }
  Runs runs;
  for (const SafetensorsTensor* const tensor : from) {
    VT_RETURN_IF_ERROR(
        AppendRows(*tensor, row.form, tensor->rank == 0 ? 1 : tensor->dims[0], runs));
  }
  Emit(name, first.type->type, std::move(dims), runs);
  if (first.type->type != DType::kF8_E4M3) return {};
  return BuildScales(name, row, experts, from);
}

Status Mapper::CheckScaleType(const SafetensorsTensor& scale) const {
  if (scale.type->known && scale.type->type != DType::kF8_E4M3) return {};
  return Unsupported(
      scale, "dtype " + std::string(scale.type->name) + " (allowed for a scale: F32, BF16, F16)");
}

Result<Mapper::Scales> Mapper::FindScales(const std::vector<const SafetensorsTensor*>& from) {
  Scales scales;
  for (const SafetensorsTensor* const weight : from) {
    const SafetensorsTensor* scale = nullptr;
    const std::vector<std::string> names = HfScaleNames(weight->name);
    for (const std::string& name : names) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end() || scale) continue;
      scale = &stored_[found->second];
      used_[found->second] = true;
    }
    if (!scale) {
      return Corrupt(*weight, "is F8_E4M3, but no shard has its scale (looked for " +
                                  Quoted(names[0]) + " and " + Quoted(names[1]) +
                                  "); fetch the folder again");
    }
    scales.push_back(scale);
  }
  return scales;
}

Status Mapper::BuildScales(const std::string& name, const HfTensorRow& row, std::uint64_t experts,
                           const std::vector<const SafetensorsTensor*>& from) {
  constexpr std::string_view kWeight = ".weight";
  const SafetensorsTensor& weight = *from[0];
  if (weight.rank < 2 || weight.rank > 3 || !name.ends_with(kWeight)) {
    return Unsupported(weight, "is F8_E4M3 of shape " + ShapeText(weight.shape()) +
                                   " (matrices can be, this must be F32, F16 or BF16)");
  }
  VT_ASSIGN_OR_RETURN(const Scales scales, FindScales(from));
  Result<HfScaleForm> form = FindHfScaleForm(weight, *scales[0]);
  if (!form.ok()) {
    return FileCorrupt(contents_.shards[scales[0]->shard].path, form.status().message());
  }
  const std::uint64_t packed = weight.rank == 3 ? weight.dims[0] : 1;
  std::uint64_t rows = 0, blocks = 0;
  Runs runs;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const SafetensorsTensor& scale = *scales[i];
    const std::uint64_t weight_rows = from[i]->dims[from[i]->rank - 2];
    const Result<HfScaleForm> own = FindHfScaleForm(*from[i], scale);
    if (!own.ok()) return FileCorrupt(contents_.shards[scale.shard].path, own.status().message());
    if (*own != *form || scale.type != scales[0]->type) {
      return Corrupt(
          scale, std::string(scale.type->name) + " of shape " + ShapeText(scale.shape()) +
                     ", but scale " + Quoted(scales[0]->name) + " is " +
                     std::string(scales[0]->type->name) + " of " + ShapeText(scales[0]->shape()) +
                     " (all of " + name + " must be alike)");
    }
    VT_RETURN_IF_ERROR(CheckScaleType(scale));
    const bool counts = experts == 0 || i < from.size() / experts;  // of the first expert
    if (*form == HfScaleForm::kOne) {
      Repeat(scale, weight_rows, runs);
    } else if (*form == HfScaleForm::kRow) {
      VT_RETURN_IF_ERROR(AppendRows(scale, row.form, packed * weight_rows, runs));
    } else {
      const bool moves = row.form == HfForm::kHeadRows || row.form == HfForm::kKvHeadRows;
      if (moves && kHfScaleBlock % (weight_rows / HeadsOf(row.form)) != 0) {
        return Unsupported(scale, "scales of 128 rows over heads of " +
                                      Number(weight_rows / HeadsOf(row.form)) +
                                      " (want heads that divide 128)");
      }
      VT_RETURN_IF_ERROR(AppendRows(scale, HfForm::kWhole, scale.dims[0], runs));
      if (counts) blocks += scale.dims[scale.rank - 2];
    }
    if (counts) rows += weight_rows;
  }
  std::vector<std::uint64_t> dims = {rows};
  std::string ending = "_scale";
  if (*form == HfScaleForm::kBlock) {
    dims = {scales[0]->dims[scales[0]->rank - 1], blocks};
    ending = "_scale_inv";
  }
  if (experts > 0) dims.push_back(experts);
  if (weight.rank == 3) dims.push_back(packed);
  Emit(name + ending, scales[0]->type->type, std::move(dims), runs);
  return {};
}

Status Mapper::BuildKeysValues(const Place& place) {
  const SafetensorsTensor& joint = *place.from[0];
  const std::uint64_t of_head = model_.key_rows + model_.value_rows;
  if (joint.rank != 2 || joint.dims[0] != model_.heads * of_head) {
    return Corrupt(joint, "shape " + ShapeText(joint.shape()) + " (want " +
                              Number(model_.heads * of_head) + " rows: " + Number(model_.heads) +
                              " heads of " + Number(model_.key_rows) + " of keys and " +
                              Number(model_.value_rows) + " of values)");
  }
  GgufCut cut{.stored = joint.type->type,
              .matrices = model_.heads,
              .stride_rows = of_head,
              .taken_rows = model_.key_rows,
              .stored_cols = joint.dims[1],
              .transposed = true};
  if (cut.stored == DType::kF8_E4M3) VT_RETURN_IF_ERROR(AddCutScales(joint, cut));
  EmitCut(place.name, joint, cut);
  cut.first_row = model_.key_rows;
  cut.taken_rows = model_.value_rows;
  cut.transposed = false;
  EmitCut(Named(architecture_.tensors[place.row].apart, place.layer), joint, cut);
  return {};
}

Status Mapper::AddCutScales(const SafetensorsTensor& joint, GgufCut& cut) {
  VT_ASSIGN_OR_RETURN(const Scales scales, FindScales({&joint}));
  const SafetensorsTensor& scale = *scales[0];
  const Result<HfScaleForm> form = FindHfScaleForm(joint, scale);
  if (!form.ok()) return FileCorrupt(contents_.shards[scale.shard].path, form.status().message());
  VT_RETURN_IF_ERROR(CheckScaleType(scale));
  cut.scales = {scale.shard, scale.offset, scale.bytes};
  cut.scale_type = scale.type->type;
  const bool block = *form == HfScaleForm::kBlock;
  cut.scale_rows = block ? kHfScaleBlock : *form == HfScaleForm::kRow ? 1 : joint.dims[0];
  cut.scale_cols = block ? kHfScaleBlock : joint.dims[1];
  return {};
}

Status Mapper::AppendRows(const SafetensorsTensor& tensor, HfForm form, std::uint64_t rows,
                          Runs& runs) const {
  if (form == HfForm::kWhole || form == HfForm::kExpert) {
    runs.push_back({tensor.shard, tensor.offset, tensor.bytes});
    return {};
  }
  const std::uint64_t heads = HeadsOf(form);
  if (heads == 0 || rows % (2 * heads) != 0) {
    return Corrupt(tensor,
                   Number(rows) + " rows (want a multiple of 2 x " + Number(heads) + " heads)");
  }
  const std::uint64_t half = rows / heads / 2, bytes = tensor.bytes / rows;
  for (std::uint64_t head = 0; head < heads; ++head) {
    for (std::uint64_t pair = 0; pair < half; ++pair) {
      const std::uint64_t first = head * 2 * half + pair;
      runs.push_back({tensor.shard, tensor.offset + first * bytes, bytes});
      runs.push_back({tensor.shard, tensor.offset + (first + half) * bytes, bytes});
    }
  }
  return {};
}

// Each value of `scale` as often as a matrix has rows.
void Mapper::Repeat(const SafetensorsTensor& scale, std::uint64_t times, Runs& runs) {
  const std::uint64_t size = scale.type->bytes;
  if (runs.empty()) {
    computed_.resize((computed_.size() + kComputedAlignment - 1) / kComputedAlignment *
                     kComputedAlignment);
  }
  const std::uint64_t begin = computed_.size();
  const auto* const values =
      reinterpret_cast<const char*>(contents_.shards[scale.shard].base + scale.offset);
  for (std::uint64_t i = 0; i < scale.bytes / size; ++i) {
    for (std::uint64_t k = 0; k < times; ++k) {
      computed_.append(values + i * size, static_cast<std::size_t>(size));
    }
  }
  runs.push_back(
      {static_cast<std::uint32_t>(contents_.shards.size()), begin, computed_.size() - begin});
}

void Mapper::Emit(const std::string& name, DType type, std::vector<std::uint64_t> dims,
                  const Runs& runs) {
  Runs joined;
  std::uint64_t bytes = 0;
  for (const GgufTensorPart& run : runs) {
    bytes += run.bytes;
    if (!joined.empty() && joined.back().shard == run.shard &&
        joined.back().offset + joined.back().bytes == run.offset) {
      joined.back().bytes += run.bytes;
    } else {
      joined.push_back(run);
    }
  }
  GgufTensor tensor;
  tensor.name = contents_.texts.Keep(name);
  tensor.type = type;
  tensor.dims = std::move(dims);
  tensor.shard = joined[0].shard;
  tensor.offset = joined[0].offset;
  tensor.bytes = bytes;
  if (joined.size() > 1 || tensor.offset % InfoOf(type).block_bytes != 0) {
    auto parts = std::make_unique<GgufTensorPart[]>(joined.size());
    std::copy(joined.begin(), joined.end(), parts.get());
    tensor.parts = {parts.get(), joined.size()};
    contents_.parts.push_back(std::move(parts));
  }
  contents_.tensors.push_back(std::move(tensor));
}

void Mapper::EmitCut(const std::string& name, const SafetensorsTensor& joint, const GgufCut& cut) {
  GgufTensor tensor;
  tensor.name = contents_.texts.Keep(name);
  tensor.type = TypeOf(cut);
  tensor.dims = {cut.stored_cols, cut.taken_rows, cut.matrices};
  if (cut.transposed) std::swap(tensor.dims[0], tensor.dims[1]);
  tensor.shard = joint.shard;
  tensor.offset = joint.offset;
  tensor.bytes = RowBytes(tensor.type, tensor.cols()) * tensor.rows();
  auto parts = std::make_unique<GgufTensorPart[]>(1);
  parts[0] = {joint.shard, joint.offset, joint.bytes};
  tensor.parts = {parts.get(), 1};
  contents_.parts.push_back(std::move(parts));
  contents_.cuts.push_back(std::make_unique<GgufCut>(cut));
  tensor.cut = contents_.cuts.back().get();
  contents_.tensors.push_back(std::move(tensor));
}

void Mapper::EmitComputed() {
  if (computed_.empty()) return;
  auto bytes = std::make_unique<std::byte[]>(computed_.size());
  std::memcpy(bytes.get(), computed_.data(), computed_.size());
  contents_.shards.push_back({.path = contents_.shards[0].path + " (computed)",
                              .file_bytes = computed_.size(),
                              .header_bytes = 0,
                              .version = 0,
                              .base = bytes.get(),
                              .computed = true});
  contents_.bytes.push_back(std::move(bytes));
}

}  // namespace

Status MapHfTensors(const HfArchitecture& architecture, const HfModel& model,
                    std::span<const SafetensorsTensor> stored, GgufContents& contents) {
  return Mapper(architecture, model, stored, contents).Map();
}

}  // namespace vt
