#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/gated.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

std::vector<AnyArgs> Compose(const SiluMulArgs& a) { return GatedCalls(a, Activation::kSilu); }

void AddCases(CaseList& list, Sweep sweep) { AddCounts<SiluMulArgs>(list, sweep); }

void Bind(Binder& b, const OpCase& c, SiluMulArgs& a) { BindGated(b, c, a); }

}  // namespace

constexpr OpFacts<SiluMulArgs> kSiluMulFacts = {
    .meaning = "silu(gate) * up",
    .check_shape = CheckCount,
    .output = CountOutput,
    .shape = CountShape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
