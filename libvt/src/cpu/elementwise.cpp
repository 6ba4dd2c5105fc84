// Rows of the op table for everything but embed, quantize and the matmuls, and how far their work
// is worth dividing.
#include "cpu/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/generic/elementwise.h"
#include "cpu/register.h"
#include "cpu/rows.h"
#include "ops/op_facts.h"
#include "ops/registry.h"

namespace vt {
namespace {

// Parts for `items` shares that cost about `work` values in all: a thread is woken only for enough
// of them.
constexpr std::int64_t kPartWork = 8192;
int Parts(std::int64_t items, std::int64_t work) {
  const std::int64_t parts = std::min(items, work / kPartWork);
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, std::numeric_limits<int>::max()));
}

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
int RopeTableParts(const RopeTableArgs& args) {
  return Parts(args.rows, args.rows * args.pairs * 16);  // a sine and a cosine each
}

int AttentionParts(const AttentionArgs& args) {
  std::int64_t positions = 0;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    positions += args.row[r].last - args.row[r].first + 1;
  }
  const std::int64_t values = positions * args.heads * (args.key_dim + args.value_dim);
  return Parts(args.rows * args.heads, values / 4);
}

int IndexSelectParts(const IndexSelectArgs& args) {
  std::int64_t scored = 0;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const std::int64_t visible = args.row[r].last - args.row[r].first + 1;
    if (visible > args.top) scored += visible;
  }
  return Parts(args.rows, scored * args.heads * args.dim / 4);
}

template <class Args>
void AddCpuRow(Registry& registry, const CpuRow& row, void (*run)(const Args&, Part),
               int (*parts)(const Args&)) {
  AddRow<Args>(registry, row, FactsOf<Args>().check_shape, run, parts);
}

void AddRows(Registry& registry, const CpuRow& row, const ElementwiseKernels& kernels) {
#define VT_ROW(name, Op, items, values)            \
  AddCpuRow<Op##Args>(registry, row, kernels.name, \
                      [](const Op##Args& a) { return Parts(items, (items) * (values)); });
  VT_CPU_ELEMENTWISE(VT_ROW)
#undef VT_ROW
}

}  // namespace

void RegisterCpuElementwise(Registry& registry) {
  AddRows(registry, kScalarF32Row, kScalarElementwise);
  AddRows(registry, kAvx2F32Row, kAvx2Elementwise);
  AddRows(registry, kAvx512F32Row, kAvx512Elementwise);
  AddCpuRow(registry, kScalarF32Row, AttentionScalar, AttentionParts);
  AddCpuRow(registry, kAvx2F32Row, AttentionAvx2, AttentionParts);
  AddCpuRow(registry, kAvx512F32Row, AttentionAvx512, AttentionParts);
  AddCpuRow(registry, kScalarF32Row, IndexSelectScalar, IndexSelectParts);
  AddCpuRow(registry, kAvx2F32Row, IndexSelectAvx2, IndexSelectParts);
  AddCpuRow(registry, kAvx512F32Row, IndexSelectAvx512, IndexSelectParts);
  // The sines come from the C library in double: the same code serves both tiers.
  for (const CpuRow& row : {CpuRow{"cpu.scalar.f64", Tier::kReference, 0, 0},
                            CpuRow{"cpu.generic.f64", Tier::kNative, 10, 0}}) {
    AddCpuRow(registry, row, RopeTable, RopeTableParts);
  }
}

}  // namespace vt
