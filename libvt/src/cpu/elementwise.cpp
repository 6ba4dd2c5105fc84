// Rows of the op table for everything but embed, quantize and matmul, the shapes each takes, and
// how far its work is worth dividing.
#include "cpu/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/register.h"
#include "ops/registry.h"

namespace vt {
namespace {

Support No(std::string reason) { return {false, std::move(reason)}; }

bool IsCellType(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 || type == DType::kQ8_0;
}

Support CellTypeNo(const char* what, DType type) {
  return No(std::string(what) + " type " + std::string(NameOf(type)) +
            " is not taken (f32, f16, bf16 or q8_0)");
}

// Parts for `items` shares that cost about `work` values in all: a thread is woken only for enough
// of them.
constexpr std::int64_t kPartWork = 8192;
int Parts(std::int64_t items, std::int64_t work) {
  const std::int64_t parts = std::min(items, work / kPartWork);
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, std::numeric_limits<int>::max()));
}

Support SupportsRmsNorm(const RmsNormArgs& args) {
  if (args.cols < 1) return No("cols must be at least 1");
  if (args.weight_rows < 1) return No("weight_rows must be at least 1");
  return {};
}
int RmsNormParts(const RmsNormArgs& args) { return Parts(args.rows, args.rows * args.cols); }

Support SupportsLayerNorm(const LayerNormArgs& args) {
  if (args.cols < 1) return No("cols must be at least 1");
  if (args.weight_rows < 1) return No("weight_rows must be at least 1");
  return {};
}
int LayerNormParts(const LayerNormArgs& args) { return Parts(args.rows, args.rows * args.cols); }

void RopeTable(const RopeTableArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    float* cosine = args.table + r * 2 * args.pairs;
    float* sine = cosine + args.pairs;
    for (std::int64_t i = 0; i < args.pairs; ++i) {
      const double angle = args.positions[r] * args.inv_freq[i];
      cosine[i] = static_cast<float>(std::cos(angle) * args.magnitude);
      sine[i] = static_cast<float>(std::sin(angle) * args.magnitude);
    }
  }
}
Support SupportsRopeTable(const RopeTableArgs&) { return {}; }
int RopeTableParts(const RopeTableArgs& args) {
  return Parts(args.rows, args.rows * args.pairs * 16);  // a sine and a cosine each
}

Support SupportsRope(const RopeArgs& args) {
  if (2 * args.pairs > args.head_dim) {
    return No("2 * pairs (" + std::to_string(2 * args.pairs) + ") exceeds head_dim (" +
              std::to_string(args.head_dim) + ")");
  }
  return {};
}
int RopeParts(const RopeArgs& args) {
  return Parts(args.rows * args.heads, args.rows * args.heads * args.pairs);
}

Support SupportsKvStore(const KvStoreArgs& args) {
  if (!IsCellType(args.cells.type)) return CellTypeNo("cell", args.cells.type);
  if (args.cells.type == DType::kQ8_0 && args.cols % 32 != 0) {
    return No("q8_0 cells need cols (" + std::to_string(args.cols) + ") in whole blocks of 32");
  }
  return {};
}
int KvStoreParts(const KvStoreArgs& args) { return Parts(args.rows, args.rows * args.cols); }

Support SupportsAttention(const AttentionArgs& args) {
  if (!IsCellType(args.k.type)) return CellTypeNo("key", args.k.type);
  if (!IsCellType(args.v.type)) return CellTypeNo("value", args.v.type);
  if (args.kv_heads < 1 || args.heads % args.kv_heads != 0) {
    return No("heads (" + std::to_string(args.heads) + ") is not a multiple of kv_heads (" +
              std::to_string(args.kv_heads) + ")");
  }
  if (args.k.type == DType::kQ8_0 && args.key_dim % 32 != 0) {
    return No("q8_0 keys need key_dim (" + std::to_string(args.key_dim) +
              ") in whole blocks of 32");
  }
  if (args.v.type == DType::kQ8_0 && args.value_dim % 32 != 0) {
    return No("q8_0 values need value_dim (" + std::to_string(args.value_dim) +
              ") in whole blocks of 32");
  }
  if (args.page_cells < 1) return No("page_cells must be at least 1");
  return {};
}
int AttentionParts(const AttentionArgs& args) {
  std::int64_t positions = 0;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    positions += args.row[r].last - args.row[r].first + 1;
  }
  const std::int64_t values = positions * args.heads * (args.key_dim + args.value_dim);
  return Parts(args.rows * args.heads, values / 4);
}

Support SupportsActivate(const ActivateArgs&) { return {}; }
int ActivateParts(const ActivateArgs& args) { return Parts(args.count, args.count); }

Support SupportsAdd(const AddArgs&) { return {}; }
int AddParts(const AddArgs& args) { return Parts(args.count, args.count); }

Support SupportsScaleCap(const ScaleCapArgs&) { return {}; }
int ScaleCapParts(const ScaleCapArgs& args) { return Parts(args.count, args.count); }

// What a row says beside its op.
struct RowOf {
  const char* name;
  Tier tier;
  int priority;
  std::uint32_t needs;
};

void AddRows(Registry& registry, const RowOf& row, const ElementwiseKernels& kernels,
             void (*attention)(const AttentionArgs&, Part)) {
  const auto add = [&]<class Args>(Support (*supports)(const Args&), void (*run)(const Args&, Part),
                                   int (*parts)(const Args&)) {
    registry.Add(Kernel<Args>{row.name, DeviceKind::kCpu, row.tier, row.priority, row.needs,
                              supports, run, parts});
  };
  add(SupportsRmsNorm, kernels.rms_norm, RmsNormParts);
  add(SupportsLayerNorm, kernels.layer_norm, LayerNormParts);
  add(SupportsRope, kernels.rope, RopeParts);
  add(SupportsKvStore, kernels.kv_store, KvStoreParts);
  add(SupportsAttention, attention, AttentionParts);
  add(SupportsActivate, kernels.activate, ActivateParts);
  add(SupportsAdd, kernels.add, AddParts);
  add(SupportsScaleCap, kernels.scale_cap, ScaleCapParts);
}

}  // namespace

void RegisterCpuElementwise(Registry& registry) {
  AddRows(registry, {"cpu.scalar.f32", Tier::kReference, 0, 0}, kScalarElementwise,
          AttentionScalar);
  AddRows(registry, {"cpu.avx2.f32", Tier::kNative, 10, kFeatureAvx2}, kAvx2Elementwise,
          AttentionAvx2);
  AddRows(registry, {"cpu.avx512.f32", Tier::kNative, 20, kFeatureAvx512}, kAvx512Elementwise,
          AttentionAvx512);
  // The sines come from the C library in double: the same code serves both tiers.
  for (const RowOf& row : {RowOf{"cpu.scalar.f64", Tier::kReference, 0, 0},
                           RowOf{"cpu.generic.f64", Tier::kNative, 10, 0}}) {
    registry.Add(Kernel<RopeTableArgs>{row.name, DeviceKind::kCpu, row.tier, row.priority,
                                       row.needs, SupportsRopeTable, RopeTable, RopeTableParts});
  }
}

}  // namespace vt
