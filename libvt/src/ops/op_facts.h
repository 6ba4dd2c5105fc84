// What is known about an op whatever the device: ops/<op>.cpp says it, and the op table, the
// dispatcher, reports and the verification read it here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/registry.h"

namespace vt {

class Binder;      // ops/cases/binder.h
struct OpCase;     // ops/cases/op_cases.h
enum class Sweep;  // ops/cases/case_lists.h
using CaseList = std::vector<OpCase>;

// The f32 result of an op: pointer and count; nothing of an op whose result is whole numbers.
struct OpOutput {
  const float* values = nullptr;
  std::int64_t count = 0;
};

// What a call looks like to a reader.
struct NamedSize {
  std::string_view name;
  std::int64_t value = 0;
};
struct OpShape {
  std::string type;            // of the weight or the cells, "q4_k"; empty where the op has neither
  std::string_view form = {};  // activations "f32", "q15"; a rope's pairing; an activation function
  std::vector<NamedSize> sizes;  // rows (or tokens, or values) first
};

template <class Args>
Support AnyShape(const Args&) {
  return {};
}

template <class Args>
struct OpFacts {
  std::string_view meaning = {};  // what it computes, in a line
  // Whether the sizes fit each other: what kernels of every device ask, and the whole answer of
  // most. Asked before any memory exists.
  Support (*check_shape)(const Args&) = AnyShape;
  OpOutput (*output)(const Args&) = nullptr;
  // Of the weight that the device must hold; null where there is none.
  DType (*weight_type)(const Args&) = nullptr;
  OpShape (*shape)(const Args&) = nullptr;
  // The op as other ops of the same device, each of which must take its arguments; null: not fused.
  // A native kernel computes the same to the bit, since this is what the op means.
  std::vector<AnyArgs> (*compose)(const Args&) = nullptr;

  // For the verification: the cases it is asked with, in the order of the list, and what each
  // pointer of a case points to.
  void (*add_cases)(CaseList& list, Sweep sweep) = nullptr;
  void (*bind)(Binder& binder, const OpCase& op_case, Args& args) = nullptr;
  // Tells cases apart, "7x33, stride 40"; null: from the sizes of its shape.
  std::string (*label)(const Args&) = nullptr;
};

template <class Args>
const OpFacts<Args>& FactsOf();

// kAddFacts of ops/add.cpp, and so on.
#define VT_DECLARE_FACTS(Op)                            \
  extern const OpFacts<Op##Args> k##Op##Facts;          \
  template <>                                           \
  inline const OpFacts<Op##Args>& FactsOf<Op##Args>() { \
    return k##Op##Facts;                                \
  }
VT_OPS(VT_DECLARE_FACTS)
#undef VT_DECLARE_FACTS

// Calls visit.operator()<Args>() for every op, in the order of the list.
template <class Visit>
void ForEachOp(Visit visit) {
#define VT_VISIT(Op) visit.template operator()<Op##Args>();
  VT_OPS(VT_VISIT)
#undef VT_VISIT
}

}  // namespace vt
