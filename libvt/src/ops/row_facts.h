// Facts that ops on the rows of a matrix share, and those on a run of values.
#pragma once

#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {

template <class Args>
Support CheckRows(const Args& a) {
  return ShapeCheck().AtLeast("rows", a.rows, 0).AtLeast("cols", a.cols, 1);
}
template <class Args>
OpOutput RowsOutput(const Args& a) {
  return {a.out, a.rows * a.cols};
}
template <class Args>
OpShape RowsShape(const Args& a) {
  return {.type = {}, .sizes = {{"rows", a.rows}, {"cols", a.cols}}};
}

template <class Args>
Support CheckCount(const Args& a) {
  return ShapeCheck().AtLeast("count", a.count, 0);
}
template <class Args>
OpOutput CountOutput(const Args& a) {
  return {a.out, a.count};
}
template <class Args>
OpShape CountShape(const Args& a) {
  return {.type = {}, .sizes = {{"count", a.count}}};
}

}  // namespace vt
