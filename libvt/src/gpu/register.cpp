#include "gpu/register.h"

#include <cstdint>
#include <string>
#include <utility>

#include "gpu/kernel_list.h"
#include "gpu/rt_kinds.h"
#include "ops/op_facts.h"
#include "ops/registry.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

constexpr std::int64_t kMostMatvecRows = 8;  // of activations: their sums stay in registers

Support RowMajor(const Weight& w) {
  return ShapeCheck()
      .True(w.layout == WeightLayout::kRowMajor,
            [] { return std::string("only row-major weights are taken"); })
      .AtLeast("rows of the weight", w.rows, 0)
      .AtLeast("cols", w.cols, 0)
      .Multiple("cols", w.cols, InfoOf(w.type).block, "whole blocks");
}

bool EmbedTakes(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 ||
         type == DType::kQ8_0 || type == DType::kQ4_K;
}

Support TakesTable(const EmbedArgs& args) {
  return ShapeCheck()
      .AtLeast("rows", args.rows, 0)
      .True(EmbedTakes(args.table.type),
            [&] {
              return "a table of type " + std::string(NameOf(args.table.type)) +
                     " is not taken (f32, f16, bf16, q8_0 or q4_k)";
            })
      .And(RowMajor(args.table));
}

template <class Args>
Support CheckedShape(const Args& args) {
  return FactsOf<Args>().check_shape(args);
}

template <DType kType>
Support TakesMatvec(const MatmulArgs& args) {
  return ShapeCheck()
      .True(args.act == ActType::kF32,
            [] { return std::string("takes f32 activations, seen q15"); })
      .True(args.w.type == kType,
            [&] {
              return "takes weights of type " + std::string(NameOf(kType)) + ", seen " +
                     std::string(NameOf(args.w.type));
            })
      .And(RowMajor(args.w))
      .AtLeast("m", args.m, 0)
      .AtMost("m", args.m, "the rows of activations that it takes", kMostMatvecRows);
}

void RegisterNative(Registry& registry, DeviceKind kind) {
  // Of a kind that is compiled out all launchers are null.
  const GpuKernels* built = GpuKindOf(kind).kernels;
  const GpuKernels kernels = built ? *built : GpuKernels{};
  const auto add = [&]<class Args>(const char* suffix, Support (*supports)(const Args&),
                                   Status (*launch)(const Args&, GpuStream&)) {
    Kernel<Args> row;
    row.name = std::string(NameOf(kind)) + "." + suffix;
    row.device = kind;
    row.tier = Tier::kNative;
    row.priority = 10;
    row.supports = supports;
    row.launch = launch;
    registry.Add(std::move(row));
  };
#define VT_ROW(name, row, Op, Takes, Launcher) \
  add.template operator()<Op##Args>(row, Takes, kernels.name);
  VT_GPU_KERNELS(VT_ROW)
#undef VT_ROW
}

// The simulated device's memory is the host's, so the scalar kernels are its reference too.
void RegisterSimReference(Registry& registry) {
  Registry rows;
  registry.ForEach([&](std::string_view, const auto& kernel) {
    if (kernel.device != DeviceKind::kCpu || kernel.tier != Tier::kReference) return;
    auto row = kernel;
    row.name = "sim" + kernel.name.substr(std::string_view("cpu").size());
    row.device = DeviceKind::kSim;
    rows.Add(std::move(row));
  });
  rows.ForEach([&](std::string_view, const auto& kernel) { registry.Add(kernel); });
}

}  // namespace

void RegisterGpuKernels(Registry& registry) {
  RegisterSimReference(registry);
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kHip, DeviceKind::kSim}) {
    RegisterNative(registry, kind);
  }
}

}  // namespace vt
