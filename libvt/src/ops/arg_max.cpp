#include <cmath>
#include <limits>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const ArgMaxArgs& a) {
  return ShapeCheck()
      .And(CheckRows(a))
      .AtMost("cols", a.cols, "a 32-bit index", std::numeric_limits<std::int32_t>::max());
}

OpOutput Output(const ArgMaxArgs&) { return {}; }  // whole numbers

void AddCases(CaseList& list, Sweep sweep) { AddShapes<ArgMaxArgs>(list, sweep); }

void Bind(Binder& b, const OpCase&, ArgMaxArgs& a) {
  // Few different values, so that there are ties, and now and then a NaN.
  std::vector<float> x(SizeOf(a.rows * a.cols));
  for (float& value : x) {
    const std::uint64_t draw = b.random().Below(20);
    value = draw == 19 ? NAN : static_cast<float>(draw) - 9;
  }
  a.x = b.Values<float>("x", x);
  a.out = static_cast<std::int32_t*>(b.OutputBytes("out", a.rows * 4));
}

}  // namespace

constexpr OpFacts<ArgMaxArgs> kArgMaxFacts = {
    .meaning = "the index of each row's largest value",
    .check_shape = CheckShape,
    .output = Output,
    .shape = RowsShape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
