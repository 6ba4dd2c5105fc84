#include "place/fit_file.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/spec_weights.h"
#include "place/slot_cost.h"

namespace vt {
namespace {

enum class Use : char { kUnused, kExpanded, kStreamed, kKept };

std::vector<Use> UsesOf(const GgufFile& file, const EnginePlan& plan) {
  std::vector<Use> uses(file.tensors().size(), Use::kUnused);
  const auto mark = [&](int tensor, Use use) {
    Use& widest = uses[static_cast<std::size_t>(tensor)];
    widest = std::max(widest, use);
  };
  for (const DevicePlan& device : plan.devices) {
    for (const ExpandedTensor& one : device.expanded) mark(one.tensor, Use::kExpanded);
    for (const SlotLayer& layer : device.slots) {
      for (const SlotTensor& one : layer.tensors) mark(one.tensor, Use::kStreamed);
    }
    for (const auto* list : {&device.mapped, &device.gathered, &device.uploaded}) {
      for (const KeptTensor& one : *list) mark(one.tensor, Use::kKept);
    }
  }
  return uses;
}

struct Run {
  std::uint32_t shard = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Use use = Use::kUnused;
};

std::vector<Run> RunsOf(const GgufFile& file, const std::vector<Use>& uses) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const auto add = [&](std::uint32_t shard, std::uint64_t offset, std::uint64_t bytes) {
      if (bytes > 0 && !file.shards()[shard].computed) {
        runs.push_back({shard, offset, offset + bytes, uses[i]});
      }
    };
    if (tensor.parts.empty()) add(tensor.shard, tensor.offset, tensor.bytes);
    for (const GgufTensorPart& part : tensor.parts) add(part.shard, part.offset, part.bytes);
  }
  // Of runs that overlap, what is kept counts first.
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    if (a.shard != b.shard) return a.shard < b.shard;
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.use > b.use;
  });
  return runs;
}

}  // namespace

FileAccount AccountFor(const GgufFile& file, const EnginePlan& plan) {
  FileAccount account;
  account.bytes = file.total_bytes();
  const std::vector<Run> runs = RunsOf(file, UsesOf(file, plan));
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < file.shards().size(); ++i) {
    const GgufShard& shard = file.shards()[i];
    if (shard.computed) {
      account.computed_bytes += shard.file_bytes;
      continue;
    }
    const std::uint64_t header = std::min(shard.header_bytes, shard.file_bytes);
    account.header_bytes += header;
    std::uint64_t at = header;
    for (; next < runs.size() && runs[next].shard == i; ++next) {
      const Run& run = runs[next];
      if (run.begin > at) account.padding_bytes += run.begin - at;
      at = std::max(at, run.begin);
      if (run.end <= at) continue;
      std::uint64_t& bytes = run.use == Use::kKept       ? account.kept_bytes
                             : run.use == Use::kStreamed ? account.streamed_bytes
                             : run.use == Use::kExpanded ? account.expanded_bytes
                                                         : account.unused_bytes;
      bytes += run.end - at;
      at = run.end;
    }
    if (shard.file_bytes > at) account.padding_bytes += shard.file_bytes - at;
  }
  return account;
}

MappedReads& MappedReads::operator+=(const MappedReads& more) {
  mapped_bytes += more.mapped_bytes;
  always_bytes += more.always_bytes;
  experts_bytes += more.experts_bytes;
  experts_read_bytes += more.experts_read_bytes;
  return *this;
}

MappedReads ReadsOfMapped(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan) {
  // How a token's step reads a tensor; of several ways the widest counts.
  enum class Read : char { kRow, kExperts, kWhole };
  struct Way {
    Read read = Read::kRow;
    const MoeSpec* moe = nullptr;
  };
  std::vector<Way> ways(file.tensors().size());
  VisitWeights(spec, [&](int layer, std::string_view place, WeightUse use, const WeightRef& ref) {
    Way& way = ways[static_cast<std::size_t>(ref.tensor)];
    const bool table =
        layer < 0 && use == WeightUse::kMatrix &&
        (place == "token_embd" || place == "position_embd" || place == "per_layer_token_embd");
    Read read = table ? Read::kRow : Read::kWhole;
    if (PartOf(layer, place) == ModelPart::kExperts && layer >= 0) {
      read = Read::kExperts;
      way.moe = &spec.layers[static_cast<std::size_t>(layer)].moe;
    }
    way.read = std::max(way.read, read);
  });
  MappedReads reads;
  for (const DevicePlan& device : plan.devices) {
    for (const KeptTensor& one : device.mapped) {
      const GgufTensor& tensor = file.tensors()[static_cast<std::size_t>(one.tensor)];
      const Way& way = ways[static_cast<std::size_t>(one.tensor)];
      reads.mapped_bytes += one.bytes;
      if (way.read == Read::kWhole) reads.always_bytes += one.bytes;
      if (way.read == Read::kRow) reads.always_bytes += RowBytes(tensor.type, tensor.cols());
      if (way.read != Read::kExperts) continue;
      const auto experts = static_cast<std::uint64_t>(std::max<std::int64_t>(way.moe->experts, 1));
      reads.experts_bytes += one.bytes;
      reads.experts_read_bytes += one.bytes / experts * static_cast<std::uint64_t>(way.moe->used);
    }
  }
  for (const DevicePlan& device : plan.devices) {
    for (const SlotLayer& layer : device.slots) {
      const auto used = spec.layers[static_cast<std::size_t>(layer.layer)].moe.used;
      const SlotCopies copies = CopiesOf(layer, used, 1);
      for (const SlotTensor& one : layer.tensors) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(layer.experts) * one.file_bytes;
        reads.mapped_bytes += bytes;
        reads.experts_bytes += bytes;
        reads.experts_read_bytes +=
            static_cast<std::uint64_t>(copies.experts * static_cast<double>(one.file_bytes));
      }
    }
  }
  return reads;
}

std::uint64_t PagedPerToken(const MappedReads& reads, std::uint64_t room) {
  if (room < reads.always_bytes) return reads.always_bytes - room + reads.experts_read_bytes;
  const std::uint64_t left = room - reads.always_bytes;
  if (left >= reads.experts_bytes) return 0;
  const double missing = 1.0 - static_cast<double>(left) / static_cast<double>(reads.experts_bytes);
  return static_cast<std::uint64_t>(static_cast<double>(reads.experts_read_bytes) * missing);
}

}  // namespace vt
